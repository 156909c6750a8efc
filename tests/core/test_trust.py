"""The cache of compiled code is run, so it is read only where nobody else can have written it.

Owners are pretended, so that these tests show the same as root and as anybody else.
"""

from __future__ import annotations

import os
import stat

import pytest

from maxmargin.core import trust as _trust
from maxmargin.core.trust import (
    UntrustedError,
    open_trusted,
    user_folder,
    why_untrusted,
    write_trusted,
)

pytestmark = pytest.mark.skipif(os.name != "posix", reason="owners and modes are those of POSIX")
STRANGER = 54321


@pytest.fixture
def give(monkeypatch):
    """Let a file or folder seem to belong to another user, or group."""
    given = {}
    real = {name: getattr(os, name) for name in ("lstat", "fstat")}
    for name in real:

        def seen(what, name=name):
            status = real[name](what)
            uid, gid = given.get(status.st_ino, (status.st_uid, status.st_gid))
            return os.stat_result((*status[:4], uid, gid, *status[6:]))

        monkeypatch.setattr(_trust.os, name, seen)

    def pretend(path, uid=None, gid=None):
        status = os.stat(path)
        given[status.st_ino] = (
            status.st_uid if uid is None else uid,
            status.st_gid if gid is None else gid,
        )

    return pretend


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "a" / "cache"
    path.mkdir(parents=True, mode=0o755)
    path.chmod(0o755)
    path.parent.chmod(0o755)
    (path / "entry").write_bytes(b"code")
    (path / "entry").chmod(0o644)
    return path


def test_our_own_is_trusted_whether_it_exists_or_not(folder):
    assert why_untrusted(str(folder)) is None
    assert why_untrusted(str(folder / "new" / "newer")) is None
    with open_trusted(str(folder / "entry")) as file:
        assert file.read() == b"code"


def test_roots_is_trusted(folder, give):
    give(folder, uid=0)
    give(folder / "entry", uid=0)
    assert open_trusted(str(folder / "entry")).read() == b"code"


@pytest.mark.parametrize("place", ["entry", ".", ".."])
def test_what_belongs_to_another_is_not(folder, give, place):
    give(folder / place, uid=STRANGER)
    with pytest.raises(UntrustedError, match=f"belongs to user {STRANGER}"):
        open_trusted(str(folder / "entry"))


@pytest.mark.parametrize("place", ["entry", ".", ".."])
@pytest.mark.parametrize("mode", [0o002, 0o020])
def test_what_others_can_write_is_not(folder, give, place, mode):
    target = folder / place
    give(target, gid=STRANGER)  # a group that we are not alone in
    target.chmod(stat.S_IMODE(target.stat().st_mode) | mode)
    with pytest.raises(UntrustedError, match="others can write"):
        open_trusted(str(folder / "entry"))


def test_a_group_of_our_own_may_write(folder, give, monkeypatch):
    give(folder, gid=STRANGER)
    folder.chmod(0o775)
    assert "others can write" in why_untrusted(str(folder))
    monkeypatch.setattr(_trust, "_is_own_group", lambda gid: gid == STRANGER)
    assert why_untrusted(str(folder)) is None


def test_above_a_sticky_folder_will_do_but_not_itself(folder):
    folder.parent.chmod(0o1777)
    assert why_untrusted(str(folder)) is None
    folder.chmod(0o1777)
    assert "others can write" in why_untrusted(str(folder))


def test_links_lead_to_where_they_lead(folder, give):
    link = folder.parent / "link"
    link.symlink_to(folder)
    assert why_untrusted(str(link)) is None
    give(folder, uid=STRANGER)
    assert "belongs" in why_untrusted(str(link))
    with pytest.raises(UntrustedError):
        open_trusted(str(link / "entry"))


def test_an_entry_is_a_file_and_no_link_or_pipe(folder):
    (folder / "link").symlink_to(folder / "entry")
    with pytest.raises(OSError, match="symbolic"):
        open_trusted(str(folder / "link"))
    os.mkfifo(folder / "pipe", 0o600)
    with pytest.raises(UntrustedError, match="is no file"):
        open_trusted(str(folder / "pipe"))


def test_what_is_written_is_for_us_alone_to_write(folder, give):
    old = os.umask(0)
    try:
        write_trusted(str(folder / "new" / "entry"), b"mine")
    finally:
        os.umask(old)
    assert stat.S_IMODE((folder / "new" / "entry").stat().st_mode) == 0o644
    assert open_trusted(str(folder / "new" / "entry")).read() == b"mine"
    assert os.listdir(folder / "new") == ["entry"]
    give(folder, uid=STRANGER)
    with pytest.raises(UntrustedError):
        write_trusted(str(folder / "entry"), b"mine")
    assert (folder / "entry").read_bytes() == b"code"


def test_a_relative_folder_is_none(monkeypatch, tmp_path):
    assert "relative" in why_untrusted("cache")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UntrustedError, match="relative"):
        write_trusted("cache/entry", b"")
    assert os.listdir(tmp_path) == []
    monkeypatch.setenv("XDG_CACHE_HOME", "cache")
    assert user_folder() == os.path.expanduser("~/.cache")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert user_folder() == str(tmp_path)
    # Without HOME, and for a user whom the system does not know:
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(_trust.os.path, "expanduser", lambda path: path)
    assert user_folder() is None


def test_a_group_is_ours_if_nobody_else_is_in_it(monkeypatch):
    grp, pwd = pytest.importorskip("grp"), pytest.importorskip("pwd")

    class Entry:
        def __init__(self, **fields):
            self.__dict__.update(fields)

    monkeypatch.setattr(pwd, "getpwuid", lambda uid: Entry(pw_gid=7, pw_name="ada"))
    for name, members, expected in (
        ("ada", [], True),
        ("ada", ["ada"], True),
        ("ada", ["ada", "eve"], False),
        ("staff", [], False),
    ):
        monkeypatch.setattr(
            grp, "getgrgid", lambda gid, n=name, m=members: Entry(gr_name=n, gr_mem=m)
        )
        assert _trust._is_own_group(7) is expected
        assert _trust._is_own_group(8) is False
