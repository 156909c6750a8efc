import copy
import gzip
import io
import pickle
from itertools import product

import pytest

from maxmargin.io import FeatureTemplate, Gazetteer

CITIES = ["New York", "York", "New York City", "Paris"]


def naive(phrases, words):
    """The longest phrase at each word from the left, by trying all."""
    found, t = ["O"] * len(words), 0
    while t < len(words):
        fits = [len(p.split()) for p in phrases if words[t : t + len(p.split())] == p.split()]
        length = max(fits, default=0)
        found[t : t + length] = ["B", *"I" * (length - 1)][:length]
        t += max(length, 1)
    return found


def test_the_longest_match_is_that_of_trying_all():
    phrases = ["a", "a b a", "b a", "c c", "a b c c"]
    gazetteer = Gazetteer(phrases)
    for length in range(6):
        for words in product("abc", repeat=length):
            assert gazetteer.find(list(words)) == naive(phrases, list(words)), words


def test_a_phrase_that_only_begins_is_none():
    assert Gazetteer(CITIES).find(["New", "York", "New", "City"]) == ["B", "I", "O", "O"]
    assert Gazetteer(["New York City"]).find(["New", "York"]) == ["O", "O"]
    assert Gazetteer(CITIES).find([]) == []
    assert Gazetteer(["a b"]).find(["a", "", "b"]) == ["O", "O", "O"]


def test_case_and_spaces():
    assert Gazetteer(["new  YORK "], ignore_case=True).find(["NEW", "york"]) == ["B", "I"]
    assert Gazetteer(["New York"]).find(["new", "york"]) == ["O", "O"]
    assert Gazetteer([" Paris ", "Paris"]).phrases == ("Paris",)


def test_files(tmp_path):
    text = "New York\r\n\n  Paris  \n"
    assert Gazetteer.read(io.StringIO(text)).phrases == ("New York", "Paris")
    packed = tmp_path / "cities.gz"
    packed.write_bytes(gzip.compress(text.encode()))
    assert Gazetteer.read(packed) == Gazetteer(["Paris", "New York"])
    assert Gazetteer.read(packed, ignore_case=True) != Gazetteer(["Paris", "New York"])
    empty = tmp_path / "empty.txt"
    empty.write_text("\n \n")
    with pytest.raises(ValueError, match=r"empty.txt: holds no phrase"):
        Gazetteer.read(empty)


def test_bad_phrases_are_named():
    with pytest.raises(TypeError, match="got the string 'Paris'"):
        Gazetteer("Paris")
    with pytest.raises(TypeError, match=r"phrases\[1\] must be a string, got 3"):
        Gazetteer(["Paris", 3])
    with pytest.raises(ValueError, match=r"phrases\[0\] has no word"):
        Gazetteer([" "])
    with pytest.raises(ValueError, match="one phrase at least"):
        Gazetteer([])
    with pytest.raises(TypeError, match="ignore_case must be True or False, got 1"):
        Gazetteer(["Paris"], ignore_case=1)


# -- in templates ----------------------------------------------------------------------------------

SENTENCE = [("In", "IN"), ("New", "NNP"), ("York", "NNP")]


def test_templates_use_a_gazetteer_like_a_column():
    lists = {"city": Gazetteer(CITIES), "verb": Gazetteer(["is"])}
    template = FeatureTemplate.parse("city[0] city[1]|pos[0] verb[0]", gazetteers=lists)
    assert template.features(SENTENCE) == [
        ["city[0]=O", "city[1]|pos[0]=B|IN", "verb[0]=O"],
        ["city[0]=B", "city[1]|pos[0]=I|NNP", "verb[0]=O"],
        ["city[0]=I", "verb[0]=O"],
    ]
    for other in (
        copy.deepcopy(template),
        pickle.loads(pickle.dumps(template)),
        FeatureTemplate.parse(template),
    ):
        assert other == template and other.features(SENTENCE) == template.features(SENTENCE)


def test_what_no_template_names_is_used_before_at_and_after_a_word():
    lists = {"city": Gazetteer(CITIES), "facility": Gazetteer(["York"])}
    template = FeatureTemplate.parse("w[0] facility[0]", gazetteers=lists)
    added = ["city[-1]", "city[0]", "city[1]"]
    assert template.to_list() == ["w[0]", "facility[0]", *added]
    assert template.features(["Paris"]) == [["w[0]=Paris", "facility[0]=O", "city[0]=B"]]


def test_phrases_are_looked_for_in_the_words():
    lists = {"city": Gazetteer(["York"])}
    for columns in (["pos", "w"], ["word", "pos"]):
        row = [{"w": "York", "word": "York", "pos": "NNP"}[name] for name in columns]
        template = FeatureTemplate.parse("city[0]", columns, lists)
        assert template.features([tuple(row)]) == [["city[0]=B"]]


@pytest.mark.parametrize(
    ("gazetteers", "error", "message"),
    [
        ({"w": Gazetteer(["a"])}, ValueError, "cannot be called 'w': that is a column"),
        ({"c7": Gazetteer(["a"])}, ValueError, "cannot be called 'c7'"),
        ({"ner": Gazetteer(["a"])}, ValueError, "cannot be called 'ner'"),
        ({"bias": Gazetteer(["a"])}, ValueError, "cannot be called 'bias'"),
        ({"two words": Gazetteer(["a"])}, ValueError, "one word of letters, got 'two words'"),
        ({"city": ["Paris"]}, TypeError, r"gazetteers\['city'\] must be a Gazetteer, got \['Pa"),
    ],
)
def test_bad_gazetteers_are_refused(gazetteers, error, message):
    with pytest.raises(error, match=message):
        FeatureTemplate.parse("w[0]", gazetteers=gazetteers)


def test_an_unknown_column_is_told_the_gazetteers():
    with pytest.raises(ValueError, match=r"unknown column 'town'. There are: w, pos, c2.*, city"):
        FeatureTemplate.parse("town[0]", gazetteers={"city": Gazetteer(["Paris"])})
