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
    ],
)
def test_bad_lines_are_named(old, new, message):
    with pytest.raises(ValueError, match=message):
        parse_conllu(TEXT.replace(old, new))


def test_arcs_of_another_length():
    with pytest.raises(ValueError, match="has 3 words, but 1 arcs"):
        parse_conllu(TEXT)[0].with_arcs([0])
