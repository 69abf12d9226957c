import pytest

from ledger.money import show, split


def test_an_even_split():
    assert split(90, 3) == [30, 30, 30]


def test_no_cent_is_lost():
    assert split(100, 3) == [34, 33, 33]


def test_nobody_to_share_with():
    with pytest.raises(ValueError):
        split(100, 0)


@pytest.mark.parametrize(("cents", "text"), [(123456, "1,234.56"), (-5, "-0.05"), (0, "0.00")])
def test_show(cents, text):
    assert show(cents) == text
