"""ParserSVM: dependency trees of sentences."""

from __future__ import annotations

from typing import Any, ClassVar, Self, Unpack

import numpy as np

from maxmargin.estimators.base import BaseSVM
from maxmargin.estimators.face import Common
from maxmargin.estimators.parser.hooks import ParserHooks
from maxmargin.estimators.parser.outputs import for_each_sentence
from maxmargin.estimators.topk import TopK
from maxmargin.inference import parse
from maxmargin.persistence import register
from maxmargin.training import partial


@register
class ParserSVM(ParserHooks, BaseSVM):
    """Dependency parsing: every word gets a head, a word or the root, so that arcs form a tree.

    The score of a tree is the sum of the scores of its arcs, w.f(head, word), and with `siblings`
    also of neighbouring children of one head. Minimises, with lam = 1/(C n) and h_i(y) = score(y) -
    score(y_i),

        lam/2 |w|^2 + 1/n sum_i s_i max_y psi( h_i(y), cost(y, y_i) )

    if the solver does; the default, "mira", learns online and minimises nothing.

    Parameters
    ----------
    cost : {"uas", "las"} or object
        Task loss: words with a wrong head; or with a wrong head or relation, if relations are
        learnt with the tree.
    projective : bool
        Whether arcs must not cross. Projective trees parse English better; False allows any tree.
    one_root : bool
        Whether exactly one word hangs on the root.
    siblings : bool
        Whether neighbouring children of one head have weights too (second order, projective only).
    relations : {"second_stage", "joint", "none"}
        How relations are learnt, if y has them: by a classifier on the arcs of the tree that was
        found; with the tree, which is slower; or not at all.
    outside : {"drop", "repair"}
        What becomes of true trees that are no outputs (crossing arcs, several roots): they are left
        out, or their arcs are lifted until they are. `n_outside_` counts them.
    punctuation : bool
        Whether words with the coarse tag PUNCT count in the cost and in `score`.
    n_hashed_features : int
        Number of weights that features of arcs are hashed to, a power of 2.

    Attributes
    ----------
    result_ : Result
    coef_ : ndarray of shape (n_weights,)
    classes_ : ndarray
        The names of relations.
    relation_coef_ : ndarray or None
        Weights of the second stage.
    n_outside_ : int
        How many sentences had a tree that is no output.

    Examples
    --------
    >>> from maxmargin import ParserSVM
    >>> def words(*tags):
    ...     return [{"form": tag.lower(), "upos": tag} for tag in tags]
    >>> X = [words("DET", "NOUN", "VERB"), words("NOUN", "VERB", "DET", "NOUN")]
    >>> y = [[2, 3, 0], [2, 0, 4, 2]]
    >>> parser = ParserSVM(n_hashed_features=1024, random_state=0).fit(X, y)
    >>> parser.predict([words("DET", "NOUN", "VERB", "DET", "NOUN")])[0].tolist()
    [2, 3, 0, 5, 3]
    """

    defaults: ClassVar[Common] = {"cost": "uas", "solver": "mira", "max_iter": 10}
    has_classes: ClassVar[bool] = False
    #: `partial_fit` need not be told of classes unless relations are learnt with the tree.
    classes = ()

    def __init__(
        self,
        *,
        projective: bool = True,
        one_root: bool = True,
        siblings: bool = False,
        relations: str = "second_stage",
        outside: str = "drop",
        punctuation: bool = True,
        n_hashed_features: int = 1 << 22,
        **common: Unpack[Common],
    ) -> None:
        super().__init__(**common)
        self.projective = projective
        self.one_root = one_root
        self.siblings = siblings
        self.relations = relations
        self.outside = outside
        self.punctuation = punctuation
        self.n_hashed_features = n_hashed_features

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.dict = True
        tags.target_tags.required = True
        tags.target_tags.one_d_labels = False
        return tags

    @partial.online_only
    def partial_fit(self, X: Any, y: Any, **options: Any) -> Self:
        """Make one pass over a batch of examples; see `BaseSVM.partial_fit`.

        Trees are learnt so, with relations="joint" or "none"; the second stage learns at once.
        """
        if self.relations == "second_stage":
            raise ValueError(
                "partial_fit learns trees: relations='second_stage' needs all examples at once. "
                "Take relations='none' or 'joint'."
            )
        return super().partial_fit(X, y, **options)

    def predict_topk(self, X: Any, k: int = 2) -> TopK:
        """Return the k best trees of every sentence, best first, and their scores.

        Parameters
        ----------
        X : list of sentences
        k : int >= 1

        Returns
        -------
        TopK : outputs, a list with a list of trees per sentence, as many as there are if fewer than
            k, each as `predict` returns it; and scores, a list with a float64 array per sentence.
            Trees differ in an arc, and each has its best relations.
        """
        data = self._encode_inputs(self._question(X))

        def best(scores: np.ndarray, siblings: Any) -> list[Any]:
            return parse.k_best(
                scores, siblings, k=k, projective=self.projective, one_root=self.one_root
            )

        outputs, totals = [], []
        for i, answers in enumerate(for_each_sentence(data, self.result_.w, best)):
            outputs.append([self._one_tree(data, i, answer.output) for answer in answers])
            totals.append(np.array([answer.score for answer in answers]))
        return TopK(outputs, totals)

    def _one_tree(self, data: Any, i: int, output: Any) -> Any:
        """Return one tree of sentence i as `predict` returns it."""
        heads, codes = output if isinstance(output, parse.Parse) else (output, None)
        n = len(heads)
        if self._reader.relations is not None and codes is None:
            a, b = int(data.offsets[i]), int(data.offsets[i + 1])
            whole = np.ones(int(data.offsets[-1]), dtype=np.int32)
            whole[data.offsets[:-1]] = 0
            whole[a:b] = heads
            named = self._named(data, whole, None)
            codes = None if named is None else named[a:b]
        return self._trees(np.array([0, n]), heads, codes)[0]

    def predict_marginals(self, X: Any, *, temperature: float = 1.0) -> list[np.ndarray]:
        """Return the probabilities of arcs under p(tree) ~ exp(score(tree) / temperature).

        A max-margin machine is not trained for probabilities: calibrate before trusting them.

        Parameters
        ----------
        X : list of sentences
        temperature : float > 0

        Returns
        -------
        list of arrays of shape (n + 1, n + 1), p(h -> m) at [h, m]; with ``relations="joint"`` of
        shape (n + 1, n + 1, n_relations)
        """
        data = self._encode_inputs(self._question(X))

        def arcs(scores: np.ndarray, siblings: Any) -> np.ndarray:
            return parse.marginals(
                scores, siblings, projective=self.projective, one_root=self.one_root,
                temperature=temperature,
            ).arcs  # fmt: skip

        return for_each_sentence(data, self.result_.w, arcs)

    def decision_function(self, X: Any) -> list[np.ndarray]:
        """Return the scores of arcs of every sentence, those of siblings left out.

        Parameters
        ----------
        X : list of sentences

        Returns
        -------
        list of arrays of shape (n + 1, n + 1), the score of the arc h -> m at [h, m]; with
        ``relations="joint"`` of shape (n + 1, n + 1, n_relations)
        """
        data = self._encode_inputs(self._question(X))
        return for_each_sentence(data, self.result_.w, lambda scores, siblings: scores)
