"""Types of features, all against the matrix that they hold."""

from __future__ import annotations

import numpy as np
import pytest

from maxmargin.features import FEATURES, as_features
from maxmargin.testing import check_features
from maxmargin.testing.tiny import FORMS


@pytest.fixture
def X():
    X = np.random.default_rng(0).normal(size=(5, 7)).round(2)
    X[np.random.default_rng(1).random(X.shape) < 0.4] = 0.0
    X[2] = 0.0
    return X


@pytest.mark.parametrize("form", FORMS)
def test_features_meet_the_contract(form, X):
    held = FORMS[form](X)
    # A kernel adds coefficients of its rows: their products are those of the matrix.
    added = np.eye(len(X)) if form == "gram" else None
    check_features(as_features(held), held, added=added)


def test_every_registered_type_has_a_form(X):
    assert {type(as_features(form(X))) for form in FORMS.values()} == set(FEATURES.values())


def test_rows_that_are_wrong_are_found(X):
    with pytest.raises(AssertionError, match="as_matrix must give"):
        check_features(as_features(X), 2.0 * X)
