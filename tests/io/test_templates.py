import copy
import pickle

import pytest

from maxmargin.datasets import load_conll2000, load_wnut17
from maxmargin.io import FUNCTIONS, PRESETS, FeatureTemplate

SENTENCE = [("Mr.", "NNP"), ("McDonald", "NNP"), ("paid", "VBD"), ("1,200", "CD")]


def of(text, sentence=SENTENCE, **options):
    return FeatureTemplate.parse(text, **options).features(sentence)


def test_offsets_outside_give_no_feature():
    assert of("w[-1] w[2]") == [
        ["w[2]=paid"],
        ["w[-1]=Mr.", "w[2]=1,200"],
        ["w[-1]=McDonald"],
        ["w[-1]=paid"],
    ]
    assert of("w[-9] w[9]") == [[], [], [], []]
    assert of("w[-1]|w[1]") == [[], ["w[-1]|w[1]=Mr.|paid"], ["w[-1]|w[1]=McDonald|1,200"], []]
    assert of("w[-3]|w[3] bias", SENTENCE[:2]) == [["bias"], ["bias"]]
    assert of("w[0]", []) == []


def naive(template, sentence):
    """The language once more, slowly, for the simple values."""
    out = []
    for t in range(len(sentence)):
        features = []
        for text in template.to_list():
            values = []
            for piece in text.split("|") if text != "bias" else []:
                column, offset = piece[:-1].split("[")
                k = t + int(offset)
                values.append(
                    sentence[k][("w", "pos").index(column)] if 0 <= k < len(sentence) else None
                )
            if text == "bias":
                features.append("bias")
            elif None not in values:
                features.append(f"{text}={'|'.join(values)}")
        out.append(features)
    return out


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_against_a_naive_reading(n):
    template = FeatureTemplate.parse("w[-3] pos[2] w[1]|pos[-1] bias w[-2]|w[0]|w[2] pos[3]|w[1]")
    assert template.features(SENTENCE[:n]) == naive(template, SENTENCE[:n])


def test_functions():
    word = [("McDonald-1989x", "NNP")]
    features = of(
        "lower(w[0]) shape(w[0]) short_shape(w[0]) prefix3(w[0]) suffix2(w[0]) prefix20(w[0]) "
        "shape(suffix3(w[0]))|lower(pos[0]) prefix2(lower(w[0]))",
        word,
    )[0]
    assert [f.split("=", 1)[1] for f in features] == [
        "mcdonald-1989x",
        "XxXxxxx-ddddx",
        "XxXx-dx",
        "McD",
        "9x",
        "McDonald-1989x",
        "ddx|nnp",
        "mc",
    ]
    assert of("shape(w[0]) suffix3(w[0])", ["a"]) == [["shape(w[0])=x", "suffix3(w[0])=a"]]


def test_text_forms_and_serialisation():
    template = FeatureTemplate.parse("w[0], pos[1]; w[-1] | w[0]\n# a comment\nbias # another")
    assert template.to_list() == ["w[0]", "pos[1]", "w[-1]|w[0]", "bias"]
    for other in (
        FeatureTemplate.parse(template.to_list()),
        FeatureTemplate.parse(template),
        copy.deepcopy(template),
        pickle.loads(pickle.dumps(template)),
    ):
        assert other == template and other.features(SENTENCE) == template.features(SENTENCE)
    assert FeatureTemplate.parse(["ner", "w[7]"]).to_list() == [*PRESETS["ner"], "w[7]"]


def test_named_columns():
    assert of("word[0] c[0]", [("x", "y")], columns=["c", "word"]) == [["word[0]=y", "c[0]=x"]]
    assert of("c2[0]", [("a", "b", "c")]) == [["c2[0]=c"]]
    assert of("w[0]", ["a", "b"]) == of("w[0]", [("a",), ("b",)])


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("", {}, "the template is empty"),
        ("# only a comment", {}, "the template is empty"),
        ("stem(w[0])", {}, r"unknown function 'stem'. There are: lower, shape, .*suffixN"),
        ("prefix(w[0])", {}, "unknown function 'prefix'"),
        ("prefix0(w[0])", {}, "unknown function 'prefix0'"),
        ("lemma[0]", {}, r"template 'lemma\[0\]': unknown column 'lemma'. There are: w, pos, c2"),
        ("c7[0]", {"columns": ["w", "c2"]}, "unknown column 'c7'. There are: w, c2"),
        ("chunks", {}, "unknown preset 'chunks'. There are: chunking, ner, bias"),
        ("w[x]", {}, r"'w\[x\]' is not a value"),
        ("w[0]|bias", {}, "'bias' is not a value"),
        ("w[0]||w[1]", {}, "'' is not a value"),
        ("shape(w[0]", {}, "is not a value"),
        ("w[0] w[0]", {}, r"template 'w\[0\]' stands twice"),
    ],
)
def test_bad_templates_are_named(text, options, message):
    with pytest.raises(ValueError, match=message):
        FeatureTemplate.parse(text, **options)


def test_bad_sentences_are_named():
    template = FeatureTemplate.parse("w[0] pos[0]")
    with pytest.raises(ValueError, match=r"sentences\[1\]: template 'pos\[0\]' needs 2 columns"):
        template.transform([SENTENCE, ["word"]])
    with pytest.raises(ValueError, match=r"sentence has rows of \[1, 2\] columns"):
        template.features([("a", "b"), ("c",)])
    with pytest.raises(TypeError, match="must be a sequence of rows, got the string"):
        template.features("abc")
    with pytest.raises(TypeError, match="a template must be a string, got 3"):
        FeatureTemplate.parse(["w[0]", 3])


def test_a_full_cache_changes_nothing(monkeypatch):
    monkeypatch.setattr("maxmargin.io.templates._MAX_CACHED", 2)
    template = FeatureTemplate.parse("w[0] w[-1]|w[0]")
    sentence = [(f"w{k % 5}",) for k in range(50)]
    assert template.features(sentence) == naive(template, sentence)
    assert all(len(compiled.cache) <= 2 for compiled in template._compiled)


def test_every_function_is_listed():
    for name in FUNCTIONS:
        FeatureTemplate.parse(f"{name.replace('N', '2')}(w[0])")


def test_presets_on_real_data(data_dir):
    data = load_conll2000(data_home=data_dir)
    template = FeatureTemplate.parse("chunking", columns=data.extra["columns"])
    X = template.transform(data.X_train)
    n_tokens = sum(map(len, X))
    assert n_tokens == 211727
    # 20 templates less what falls outside: 14 a sentence of 23.7 tokens.
    n_features = sum(len(features) for x in X for features in x)
    assert n_features / n_tokens == pytest.approx(19.41, abs=0.01)

    tweets = load_wnut17(data_home=data_dir)
    FeatureTemplate.parse("ner", columns=tweets.extra["columns"]).transform(tweets.X_dev)
