"""CoNLL-U: what is kept on writing, and lines that cannot be read."""

from __future__ import annotations

import pytest

from maxmargin.io import parse_conllu, read_conllu, write_conllu

TEXT = """# sent_id = 1
# text = Don't go
1-2\tDon't\t_\t_\t_\t_\t_\t_\t_\t_
1\tDo\tdo\tAUX\tVBP\t_\t3\taux\t_\t_
2\tn't\tnot\tPART\tRB\t_\t3\tadvmod\t_\t_
2.1\tyou\tyou\tPRON\tPRP\t_\t_\t_\t3:nsubj\t_
3\tgo\tgo\tVERB\tVB\tMood=Imp\t0\troot\t_\tSpaceAfter=No

1\tYes\tyes\tINTJ\tUH\t_\t0\troot\t_\t_

"""


def test_everything_is_kept_on_writing(tmp_path):
    sentences = parse_conllu(TEXT)
    assert [len(sentence) for sentence in sentences] == [3, 1]
    assert sentences[0].arcs == [(3, "aux"), (3, "advmod"), (0, "root")]
    write_conllu(tmp_path / "out.conllu", sentences)
    assert (tmp_path / "out.conllu").read_text() == TEXT
    assert read_conllu(tmp_path / "out.conllu") == sentences
    changed = sentences[0].with_arcs([(2, "x"), (0, "root"), (2, "y")])
    write_conllu(tmp_path / "out.conllu.gz", [changed])
    again = read_conllu(tmp_path / "out.conllu.gz")[0]
    assert again.heads == [2, 0, 2]
    assert len(again.lines) == len(sentences[0].lines)
    assert again.with_arcs(sentences[0].arcs) == sentences[0]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("1\tYes\tyes\t", "1\tYes\t", "line 9: expected 10 columns separated by tabs, got 9"),
        ("3\tgo", "4\tgo", "line 7: expected word 3 of the sentence, got '4'"),
        ("\t3\taux", "\t8\taux", "line 4: the head '8' is no word; expected 0 for the root, or 1"),
        ("\t3\taux", "\tx\taux", "line 4: the head 'x' is no word"),
        ("1\tYes\tyes\tINTJ\tUH\t_\t0\troot\t_\t_\n", "# only\n", "line 9: a sentence without a"),
        (
            "2.1\tyou",
            "x\tyou",
            "line 6: expected the number of a word, .* got 'x'",
        ),
        ("\t3\taux", "\t\u00b2\taux", "line 4: the head '\u00b2' is no word"),
        ("\t3\taux", "\t" + "9" * 9999 + "\taux", "line 4: the head '999.* is no word"),
    ],
)
def test_bad_lines_are_named(old, new, message):
    with pytest.raises(ValueError, match=message):
        parse_conllu(TEXT.replace(old, new))


def test_lines_end_at_newlines_alone(tmp_path):
    # Characters that str.splitlines cuts at may be in a word.
    text = TEXT.replace("Yes", "Y\x0be\x85s\u2028")
    assert [word[1] for word in parse_conllu(text)[1]] == ["Y\x0be\x85s\u2028"]
    (tmp_path / "crlf.conllu").write_bytes(text.replace("\n", "\r\n").encode())
    sentences = parse_conllu(text.replace("\n", "\r\n"))
    assert sentences == parse_conllu(text) == read_conllu(tmp_path / "crlf.conllu")


def test_arcs_that_do_not_fit():
    sentence = parse_conllu(TEXT)[0]
    for arcs, error, message in (
        ([0], ValueError, "has 3 words, but 1 arcs"),
        ([0, "x", 1], TypeError, r"arcs\[1\] has the head 'x'; expected the number of a word"),
        ([0, 1, (4, "a")], ValueError, r"arcs\[2\] has the head 4, which is no word; .* 1 to 3"),
        ([(0, "a", "b"), 1, 1], ValueError, r"arcs\[0\] is \(0, 'a', 'b'\); expected a head, or"),
        ([(0, "a\tb"), 1, 1], ValueError, r"arcs\[0\] has the relation 'a\\tb': a column"),
    ):
        with pytest.raises(error, match=message):
            sentence.with_arcs(arcs)
    arcs = [(2, "x"), (0, "root"), (2, "y")]
    assert sentence.with_arcs([list(arc) for arc in arcs]) == sentence.with_arcs(arcs)


def test_words_without_a_head():
    sentence = parse_conllu(TEXT.replace("VB\tMood=Imp\t0", "VB\tMood=Imp\t_"))[0]
    with pytest.raises(ValueError, match=r"word 3 of the sentence, 'go', has no head"):
        sentence.heads  # noqa: B018
