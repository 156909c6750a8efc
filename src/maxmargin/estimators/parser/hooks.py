"""Parsers: what X, y and w mean, for all that estimators share."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Any, Self

import numpy as np

from maxmargin.core import predict
from maxmargin.costs import UAS, ArcCost
from maxmargin.estimators.hooks import Hooks
from maxmargin.estimators.parser.encoding import (
    N_RELATION_ROWS,
    ParserOptions,
    ParserReader,
    Sentences,
)
from maxmargin.estimators.parser.relations import learn_relations, name_relations
from maxmargin.inputs.checks import check_number, unknown
from maxmargin.inputs.parses import OUTSIDE, read_arcs
from maxmargin.inputs.request import Request
from maxmargin.inputs.stored import Arrays, Fields
from maxmargin.metrics.parses import attachment
from maxmargin.solvers.result import Result
from maxmargin.structures import ParseData
from maxmargin.structures.parse.data import split_cells
from maxmargin.training.scoring import Score
from maxmargin.training.settings import check_flags, n_threads, resolve_cost
from maxmargin.training.task import Task

RELATIONS = {"second_stage": None, "joint": None, "none": None}
MEASURES = ("uas", "las")


class ParserHooks(Hooks):
    """The part of `ParserSVM` that knows what X, y and w mean."""

    cost: Any
    projective: bool
    one_root: bool
    siblings: bool
    relations: str
    outside: str
    punctuation: bool
    n_hashed_features: int
    random_state: Any
    result_: Result
    _reader: ParserReader
    _second: tuple[Any, ...] | None = None
    relation_coef_: np.ndarray | None

    # -- what X and y are ------------------------------------------------------------------------

    def _options(self) -> ParserOptions:
        return ParserOptions(
            self.projective, self.one_root, self.siblings, self.relations, self.outside,
            self.punctuation, int(self.n_hashed_features), resolve_cost(self.cost, "arcs"),
        )  # fmt: skip

    def _encode(
        self,
        request: Request,
        *,
        reset: bool,
        classes: Iterable[Any] | None = None,
        weighted: bool = True,
    ) -> Task:
        options = self._options()
        if reset:
            reader, sentences, arcs = ParserReader.learn(request, options)
        else:
            reader, sentences = self._reader, self._reader.read(request.X)
            arcs = read_arcs(request.y, sentences.offsets)
        if options.siblings and reader.n_features:
            raise ValueError(
                "siblings=True needs tokens, but X has features of arcs: take siblings=False."
            )
        task, n_outside = reader.task(request, sentences, arcs, options)
        if not reset:  # looked at, or more of the same to learn: what was learnt remains
            return task
        self._reader, self.n_outside_ = reader, n_outside
        self.classes_ = np.array([]) if reader.relations is None else reader.relations.classes
        self.n_features_in_ = reader.n_features or int(self.n_hashed_features)
        # Relations are learnt anew, with the tree or after it; until then none are known.
        self.relation_coef_, self._second = None, None
        if options.relations == "second_stage" and reader.relations is not None:
            if reader.n_features:
                raise ValueError(
                    "relations='second_stage' needs tokens, but X has features of arcs: take "
                    "relations='joint' or 'none'."
                )
            # All true arcs teach relations, those of trees that are no outputs too.
            features = reader.features(sentences, options)
            weight = np.ones(len(sentences.offsets) - 1)
            if request.sample_weight is not None:
                weight = np.asarray(request.sample_weight, dtype=np.float64)
            self._second = (features, sentences.offsets, arcs.heads, reader.codes(arcs), weight)
        return task

    def _encode_inputs(self, request: Request) -> ParseData:
        return self._reader.data(self._reader.read(request.X), self._options())

    def _prediction_cost(self, data: ParseData) -> ArcCost:
        return UAS().arcs(["any"] * data.n_relations, np.diff(data.offsets))

    def _parse(self, data: ParseData, w: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        """Return heads, and numbers of relations if they are learnt, of the best trees at w."""
        cells, _ = predict.best_outputs(
            data, w, self._prediction_cost(data), n_jobs=n_threads(self.n_jobs)
        )
        heads, codes = split_cells(data, cells)
        return heads, self._named(data, heads, codes)

    def _named(
        self, data: ParseData, heads: np.ndarray, codes: np.ndarray | None
    ) -> np.ndarray | None:
        known = self._reader.relations
        if known is None:
            return None
        if self.relation_coef_ is None:
            # A single relation needs no weights, so that trees are learnt without it.
            return np.zeros(len(heads), dtype=np.int32) if len(known) == 1 else codes
        return name_relations(data.features, data.offsets, heads, self.relation_coef_)

    def _decode(self, cells: np.ndarray, data: ParseData) -> list[Any]:
        heads, codes = split_cells(data, cells)
        return self._trees(data.offsets, heads, self._named(data, heads, codes))

    def _trees(self, offsets: np.ndarray, heads: np.ndarray, codes: np.ndarray | None) -> list[Any]:
        """Return trees as y has them: heads, or pairs of heads and relations."""
        pieces = list(pairwise(offsets))
        if codes is None:
            return [heads[a:b] for a, b in pieces]
        names = self.classes_[codes].tolist()
        plain = heads.tolist()
        return [list(zip(plain[a:b], names[a:b], strict=True)) for a, b in pieces]

    def _check_parameters(self) -> None:
        check_flags(self, "projective", "one_root", "siblings", "punctuation")
        if self.relations not in RELATIONS:
            raise unknown("relations", self.relations, RELATIONS)
        if self.outside not in OUTSIDE:
            raise unknown("outside", self.outside, dict.fromkeys(OUTSIDE))
        size = check_number(
            "n_hashed_features", self.n_hashed_features, 16, closed=True, integer=True
        )
        if size & (size - 1):
            raise ValueError(f"n_hashed_features must be a power of 2, got {size}.")
        if self.siblings and not self.projective:
            raise ValueError("siblings=True needs projective=True.")
        if self.siblings and self.relations == "joint":
            raise ValueError("siblings=True and relations='joint' cannot be combined.")
        cost = resolve_cost(self.cost, "arcs")
        if type(cost).__name__ == "LAS" and self.relations != "joint":
            raise ValueError("cost='las' needs relations='joint': it prices relations in the tree.")

    # -- what the weights are --------------------------------------------------------------------

    def _unpack(self, w: np.ndarray) -> None:
        self.coef_ = w

    def _adopt(self, result: Result) -> Self:
        second, self._second = self._second, None
        if second is not None:
            features, offsets, heads, codes, weight = second
            self.relation_coef_ = learn_relations(
                features, offsets, heads, codes, len(self.classes_), weight, self.random_state
            )
        return super()._adopt(result)  # type: ignore[misc,no-any-return]

    def _layout(self) -> Any:
        joint = self._reader.n_joint(self._options())
        return [self._reader.n_features, self.n_hashed_features, joint, self.siblings]

    def _n_weights(self) -> int:
        n_relations = self._reader.n_joint(self._options())
        if self._reader.n_features:
            return self._reader.n_features * n_relations
        extra = N_RELATION_ROWS * n_relations if n_relations > 1 else 0
        return int(self.n_hashed_features) + extra

    # -- what predictions are worth --------------------------------------------------------------

    def _score_name(self) -> str:
        return "las" if self._reader.relations is not None else "uas"

    def _measure_names(self) -> tuple[str, ...]:
        return MEASURES

    def _measure(self, name: str) -> Callable[[Request], Score] | None:
        if name not in MEASURES:
            return None
        return lambda request: self._attachment(request, name)

    def _scorer(self, request: Request) -> Score:
        return self._attachment(request, self._score_name())

    def _attachment(self, request: Request, name: str) -> Score:
        """Return the function w -> attachment score, over all words together."""
        if name == "las" and self._second is not None:
            raise ValueError(
                "relations='second_stage' are learnt after the trees, so that las is not known "
                "during a fit: take scoring='uas', or relations='joint'."
            )
        # Do not use `_encode`: trees that are no outputs are scored as well.
        sentences: Sentences = self._reader.read(request.X)
        options = self._options()
        data = self._reader.data(sentences, options)
        arcs = read_arcs(request.y, sentences.offsets)
        truth = None if name == "uas" else self._known_codes(arcs.relations)
        counts = sentences.counts(options.punctuation) != 0
        if request.sample_weight is not None:
            weight = np.asarray(request.sample_weight, dtype=np.float64)
            counts = counts * np.repeat(weight, np.diff(sentences.offsets))

        def score(w: np.ndarray) -> float:
            if truth is None:
                cells, _ = predict.best_outputs(
                    data, w, self._prediction_cost(data), n_jobs=n_threads(self.n_jobs)
                )
                return attachment(arcs.heads, split_cells(data, cells)[0], counts)
            heads, codes = self._parse(data, w)
            return attachment(arcs.heads, heads, counts, truth, codes)

        return score

    def _known_codes(self, relations: Any) -> np.ndarray:
        known = self._reader.relations
        if relations is None or known is None:
            raise ValueError("y, or the model, has no relations: take scoring='uas'.")
        index = known.index
        return np.array([index.get(name, -1) for name in relations], dtype=np.int32)

    def _default_measure(self, request: Request) -> str | None:
        return "uas"

    # -- files -----------------------------------------------------------------------------------

    def _fitted_state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        own, arrays = self._reader.to_state()
        if self.relation_coef_ is not None:
            arrays["relation_coef"] = self.relation_coef_
        return {**own, "n_outside_": self.n_outside_}, arrays

    def _restore_fitted(self, fields: Fields, arrays: Arrays) -> None:
        self._reader = reader = ParserReader.from_state(fields, arrays)
        self.n_outside_ = fields.count("n_outside_", least=0)
        self.classes_ = np.array([]) if reader.relations is None else reader.relations.classes
        self.n_features_in_ = reader.n_features or int(self.n_hashed_features)
        self.relation_coef_ = None
        if self.relations == "second_stage" and reader.relations is not None:
            shape = (N_RELATION_ROWS, len(self.classes_))
            self.relation_coef_ = arrays.take("relation_coef", shape, np.float64)
