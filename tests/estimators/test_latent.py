"""Latent variables: F by its definition, never rising, and what is refused."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from maxmargin import ChainSVM, LatentSVM, MulticlassSVM, StructuredSVM, load
from maxmargin.estimators.structured import register_structure
from maxmargin.metrics import average_precision
from maxmargin.structures import BagRankings
from maxmargin.surrogates import MicroF1, ProbLoss


class Places:
    """Class y shows at place z: phi puts x_z into the block of y."""

    n_features = 6

    def joint_feature(self, x, pair):
        phi = np.zeros(6)
        phi[2 * pair[0] : 2 * pair[0] + 2] = x[pair[1]]
        return phi

    def outputs(self, x):
        return list(itertools.product(range(3), range(len(x))))

    def cost(self, pair, true):
        return float(abs(pair[0] - true[0]))

    def maximize(self, x, w, true, score_scale, cost_scale):
        scores = (np.asarray(x) @ w.reshape(3, 2).T).T  # (class, place)
        prices = 0.0 if true is None else np.abs(np.arange(3) - true[0])[:, None]
        best = int(np.argmax(score_scale * scores + cost_scale * prices))
        return best // len(x), best % len(x)

    def complete(self, x, w, y):
        return int(np.argmax(np.asarray(x) @ w.reshape(3, 2)[y]))

    def profile(self, x, w, true):
        return [(y, self.complete(x, w, y)) for y in range(3)]


def drawn(rng, n=30):
    y = rng.integers(3, size=n)
    X = 0.5 * rng.normal(size=(n, 4, 2))
    X[np.arange(n), rng.integers(4, size=n)] += np.array([[2.0, 0.0], [0.0, 2.0], [-2.0, -2.0]])[y]
    return X, y


def objective(structure, X, y, w, C, psi):
    """Return F(w) by its definition."""
    losses = []
    for x, truth in zip(X, y, strict=True):
        score = {pair: w @ structure.joint_feature(x, pair) for pair in structure.outputs(x)}
        best = max(value for pair, value in score.items() if pair[0] == truth)
        losses.append(
            max(psi(v - best, structure.cost(pair, (truth, 0))) for pair, v in score.items())
        )
    return w @ w / (2.0 * C * len(X)) + np.mean(losses)


PSIS = {
    "margin": lambda h, g: h + g,
    "slack": lambda h, g: (h + 1.0) * g,
    "beta": lambda h, g: h * g**0.5 + g,
}


@pytest.mark.parametrize("surrogate", PSIS)
@pytest.mark.parametrize("start", ["auto", "zero", "random"])
def test_the_objective_is_f_and_never_rises(surrogate, start, rng):
    X, y = drawn(rng)
    svm = StructuredSVM(Places(), C=1.0, surrogate=surrogate, tol=0.05, random_state=0)
    model = LatentSVM(svm, start=start, random_state=0).fit(X, y)
    result = model.result_
    expected = objective(Places(), X, y, model.coef_, 1.0, PSIS[surrogate])
    assert result.objective == pytest.approx(expected, rel=1e-9)
    assert result.search_gap <= 1e-9
    steps = [record.objective for record in result.history]
    assert all(record.decrease >= -1e-12 for record in result.history)
    assert all(b <= a + 1e-12 for a, b in itertools.pairwise(steps))
    assert result.inner_gap >= 0.0 and result.decrease == result.history[-1].decrease
    assert not hasattr(result, "gap")


class Unlisted:
    """The same without a profile: the search then only bounds what it may have missed."""

    n_features = 6
    joint_feature, cost, maximize = Places.joint_feature, Places.cost, Places.maximize
    complete, outputs = Places.complete, Places.outputs


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_bound_of_f_is_told_as_a_bound(rng):
    gaps = []
    for surrogate in ("slack", "beta"):
        X, y = drawn(rng, 12)
        svm = StructuredSVM(Unlisted(), C=10.0, surrogate=surrogate, tol=0.05, random_state=0)
        models = [
            LatentSVM(svm, start="random", random_state=1, outer_tol=0.0, max_outer=k).fit(X, y)
            for k in (1, 2, 3)
        ]
        known = [objective(Places(), X, y, m.coef_, 10.0, PSIS[surrogate]) for m in models]
        results = [model.result_ for model in models]
        for result, value in zip(results, known, strict=True):
            assert result.objective - result.search_gap - 1e-9 <= value <= result.objective + 1e-9
            assert result.search_gap == result.history[-1].search_gap >= 0.0
            assert ("below" in repr(result)) == (result.search_gap > 1e-9 * result.objective)
        assert all(record.decrease >= 0.0 for record in results[-1].history)
        for before, (a, b) in zip(results, itertools.pairwise(known), strict=False):
            assert b <= a + before.search_gap + 1e-9
        gaps += [result.search_gap for result in results]
    assert max(gaps) > 1e-3


def test_starts_differ_and_the_best_is_kept(rng):
    X, y = drawn(rng, 40)
    model = LatentSVM(StructuredSVM(Places(), C=1.0), n_init=3, random_state=0).fit(X, y)
    assert len(model.result_.starts) == 3
    assert model.result_.objective == min(model.result_.starts)
    assert model.score(X, y) > 0.85
    assert len(model.predict_latent(X)) == len(model.latent_) == 40


def test_another_place_of_the_true_class_counts_as_a_violation():
    # Places 0 and 1 have the same features but for a part that only w at place 1 likes: holding the
    # truth at place 0, h > 0 at cost 0, which margin rescaling must count.
    X, y = [np.array([[1.0, 0.0], [2.0, 0.0]])], [0]
    svm = StructuredSVM(Places(), C=1.0, tol=1e-4)
    w = np.array([1.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    structure = Places()
    assert structure.maximize(X[0], w, (0, 0), 1.0, 0.1) == (0, 1)
    model = LatentSVM(svm, start="zero").fit(X, y)
    assert model.latent_ == [1]


def test_unknown_labels_of_sequences_are_completed(rng):
    means = np.array([[2.0, 0.0], [0.0, 2.0], [-2.0, -2.0]])
    y = [rng.integers(3, size=6) for _ in range(20)]
    X = [means[labels] + rng.normal(size=(6, 2)) for labels in y]
    partly = [[None if rng.random() < 0.4 else int(k) for k in labels] for labels in y]
    model = LatentSVM(ChainSVM(C=1.0, tol=0.01), random_state=0).fit(X, partly)
    steps = [record.objective for record in model.result_.history]
    assert all(b <= a + 1e-12 for a, b in itertools.pairwise(steps))
    for known, completed in zip(partly, model.latent_, strict=True):
        assert all(a is None or a == b for a, b in zip(known, completed, strict=True))
    assert model.score(X, y) > 0.8
    # F by its definition: all labellings against the best completion; only known labels cost.
    svm, total = model.estimator_, 0.0
    labellings = np.array(list(itertools.product(range(3), repeat=6)))
    steps_of = np.eye(3)[labellings]
    for x, known in zip(X, partly, strict=True):
        unary = x @ svm.coef_.T + svm.intercept_
        scores = (steps_of * unary).sum(axis=(1, 2)) + svm.start_[labellings[:, 0]]
        scores += svm.end_[labellings[:, -1]]
        for t in range(5):
            scores += svm.transitions_[labellings[:, t], labellings[:, t + 1]]
        is_known = np.array([k is not None for k in known])
        codes = np.array([k or 0 for k in known])
        wrong = ((labellings != codes) & is_known).sum(axis=1)
        total += (scores + wrong).max() - scores[wrong == 0].max()
    expected = model.coef_ @ model.coef_ / (2.0 * 20) + total / 20
    assert model.result_.objective == pytest.approx(expected, rel=1e-9)


def test_rankings_of_bags(rng):
    relevant = np.arange(12) < 5
    bags = [rng.normal(size=(rng.integers(1, 4), 2)) for _ in relevant]
    for bag in bags[:5]:
        bag[rng.integers(len(bag))] += [2.5, 0.0]
    svm = StructuredSVM(BagRankings(2, "ap"), C=100.0, tol=0.01)
    model = LatentSVM(svm, random_state=0).fit([bags], [relevant])
    steps = [record.objective for record in model.result_.history]
    assert all(b <= a + 1e-12 for a, b in itertools.pairwise(steps))
    # The bracket at w, over all interleavings: best windows on both sides.
    w = model.coef_
    scores = np.array([(bag @ w).max() for bag in bags])
    top, P, N = 0.0, 5, 7
    for places in itertools.combinations(range(12), P):  # where positives stand, best first
        negatives_above = np.array(places) - np.arange(P)
        ranked = np.sort(scores[:5])[::-1], np.sort(scores[5:])[::-1]
        h = sum(ranked[1][j] - ranked[0][i] for i in range(P) for j in range(negatives_above[i]))
        cost = 1.0 - np.mean((np.arange(P) + 1.0) / (np.array(places) + 1.0))
        top = max(top, cost + 2.0 * h / (P * N))
    assert model.result_.objective == pytest.approx(w @ w / 200.0 + top, rel=1e-9)
    assert len(model.predict([bags])[0]) == 12
    # The score is that of RankingSVM: the measure of the cost.
    assert model.score([bags], [relevant]) == average_precision(relevant, scores)
    both = model.score([bags, bags[:4]], [relevant, [1, 1, 1, 1]])
    expected = [average_precision(relevant, scores), average_precision(np.ones(4), scores[:4])]
    assert both == pytest.approx(np.nanmean(expected))
    with pytest.raises(ValueError, match="say of each of the 12 bags"):
        model.score([bags], [relevant * 2])


@register_structure
class Kept(Places):
    def parameters(self):
        return {}


def test_files_hold_what_predicts(tmp_path, rng):
    path = tmp_path / "model.mm"
    X, y = drawn(rng, 12)
    sequences = [x[:3] for x in X]
    labels = [[0, None, 1], [1, 1, None]] * 6
    bags = [[rng.normal(size=(2, 2)) for _ in range(5)]]
    for model, inputs, outputs in (
        (LatentSVM(StructuredSVM(Kept(), C=1.0), random_state=0), X, y),
        (LatentSVM(ChainSVM(C=1.0), n_init=2, random_state=0), sequences, labels),
        (LatentSVM(StructuredSVM(BagRankings(2, "auc"))), bags, [[1, 0, 0, 1, 0]]),
    ):
        model.fit(inputs, outputs).save(path)
        again = load(path)
        np.testing.assert_equal(again.predict(inputs), model.predict(inputs))
        assert again.result_.history == model.result_.history
        assert again.result_.objective == model.result_.objective
        assert again.get_params(deep=False).keys() == model.get_params(deep=False).keys()
        again.save(path)
        assert again.fit(inputs, outputs).result_.objective <= model.result_.objective + 1.0
    with pytest.raises(TypeError, match="Places"):
        LatentSVM(StructuredSVM(Places()), random_state=0).fit(X, y).save(tmp_path / "no.mm")
    assert not (tmp_path / "no.mm").exists()  # written whole or not at all
    with pytest.warns(UserWarning, match="does not hold latent"):
        LatentSVM(Kept(), lambda x, w, y: Places().complete(x, w, y)).fit(X, y).save(path)


class WithoutCompletion(Places):
    complete = None


def test_bad_input(rng):
    X, y = drawn(rng, 6)
    for given, error, message in (
        (LatentSVM(WithoutCompletion()), TypeError, "has no best completion: give it a method"),
        (LatentSVM(MulticlassSVM()), TypeError, "estimator must be a StructuredSVM"),
        (LatentSVM(Places(), start="best"), ValueError, "start must be one of auto, mean"),
        (LatentSVM(Places(), n_init=0), ValueError, "n_init must be"),
        (LatentSVM(Places(), latent=3), TypeError, "latent must be a function"),
        (
            LatentSVM(StructuredSVM(Places(), surrogate=ProbLoss(convex=False), solver="sgd")),
            ValueError,
            "is not convex",
        ),
    ):
        with pytest.raises(error, match=message):
            given.fit(X, y)
    with pytest.raises(ValueError, match="X has 6 samples but y has 5"):
        LatentSVM(Places()).fit(X, y[:5])

    class Peeking(Places):
        def cost(self, pair, true):
            return float(pair != tuple(true))

    with pytest.raises(ValueError, match="must not depend on the z of the true output"):
        LatentSVM(StructuredSVM(Peeking(), C=10.0), start="random", random_state=0).fit(X, y)
    partly = [X[0], X[1]], [[0, None, 1, 1], [1, 0, 0, None]]
    with pytest.raises(ValueError, match="looks at whole sequences"):
        LatentSVM(ChainSVM(cost="zero_one")).fit(*partly)
    with pytest.raises(ValueError, match="unknown labels, as latent ones are"):
        LatentSVM(ChainSVM(surrogate=MicroF1(outside=0))).fit(*partly)
    with pytest.raises(ValueError, match="is no cost of rankings"):
        BagRankings(2, "hamming")
