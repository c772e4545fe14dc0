import json

from hypothesis import given
from hypothesis import strategies as st

from tests.views.report.pages import NASTY, Page
from torusgp.views.report._markup import Markup, data_block, element, escape, join, table

# what may stand in a page: no control characters, no halves of surrogate pairs
readable = st.text(st.characters(exclude_categories=("Cc", "Cs"), exclude_characters="\ufffe\uffff\ufffd"))


@given(readable, readable)
def test_text_and_attributes_come_back_as_they_were(text, attribute):
    (node,) = Page(element("p", text, title=attribute)).root.children
    assert node.text == text
    assert node.attributes == {"title": attribute}
    assert node.children == []


@given(st.recursive(readable, lambda inner: st.lists(inner) | st.dictionaries(readable, inner)))
def test_data_come_back_from_their_block(content):
    block = data_block(content)
    (node,) = Page(block).root.children
    assert json.loads(node.text) == content
    assert not set("<>&") & set(node.text)


@given(st.text())
def test_any_text_can_be_written(text):
    assert element("p", text).encode("utf-8").decode("utf-8") == element("p", text)
    assert data_block(text).encode("utf-8")


def test_markup_is_not_escaped_twice():
    inner = element("b", NASTY[0])
    assert escape(inner) is inner
    assert element("p", inner, "&") == f"<p>{inner}&amp;</p>"
    assert isinstance(join([inner, NASTY[1]]), Markup)


def test_attributes_have_their_names_and_may_be_left_out():
    assert element("td", data_value=0, class_="a", hidden=True, title=None, open=False) == (
        '<td data-value="0" class="a" hidden></td>'
    )
    assert element("img", alt="") == '<img alt="">'


def test_a_table_names_rows_and_columns():
    root = Page(table(["", "share"], [[NASTY[0], element("td", "1", class_="number")], ["b", "2"]])).root
    assert [one.all_text() for one in root.find_all("th", scope="col")] == ["", "share"]
    assert [one.text for one in root.find_all("th", scope="row")] == [NASTY[0], "b"]
    assert [(one.text, one.has("class", "number")) for one in root.find_all("td")] == [("1", True), ("2", False)]
