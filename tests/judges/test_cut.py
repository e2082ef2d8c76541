"""Cutting: by a fixed rule, each cut told."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pantrace.judges.cut import Block, fit


def test_what_fits_is_left_alone() -> None:
    texts, notes = fit({"question": [Block("a")], "trajectory": [Block("b"), Block("c", "output")]}, 100)
    assert texts == {"question": "a", "trajectory": "b\n\nc"}
    assert notes == []


def test_long_outputs_lose_their_middle_first() -> None:
    output = "H" * 30_000 + "T" * 30_000
    texts, notes = fit({"answer": [Block("A" * 900)], "trajectory": [Block("said"), Block(output, "output")]}, 12_000)
    assert texts["answer"] == "A" * 900
    assert notes == ["the middle of 1 long tool outputs (8000 characters of each are kept)"]
    said, cut = texts["trajectory"].split("\n\n", 1)
    assert said == "said"
    assert cut.startswith("HHH")
    assert cut.endswith("TTT")
    assert "characters cut here]" in cut
    assert 7_900 < len(cut) <= 8_000


def test_then_the_middle_of_the_list_goes() -> None:
    blocks = [Block(f"entry {number:03} " + "x" * 400) for number in range(1, 101)]
    texts, notes = fit({"question": [Block("q")], "trajectory": blocks}, 10_000)
    assert len(notes) == 1
    assert "entries 13 to 88 of the 100 entries of the trajectory" in notes[0]
    assert "entry 001" in texts["trajectory"]
    assert "entry 012" in texts["trajectory"]
    assert "entry 013" not in texts["trajectory"]
    assert "entry 100" in texts["trajectory"]
    assert "[entries 13 to 88 of 100 cut here]" in texts["trajectory"]


def test_then_any_long_text() -> None:
    texts, notes = fit({"question": [Block("q" * 100)], "answer": [Block("s" + "a" * 50_000 + "e")]}, 5_000)
    assert texts["question"] == "q" * 100
    assert texts["answer"].startswith("sa")
    assert texts["answer"].endswith("ae")
    assert "the middle of the answer" in notes[0]
    assert sum(map(len, texts.values())) <= 5_000


@given(
    st.dictionaries(
        st.sampled_from(["answer", "trajectory", "evidence"]),
        st.lists(
            st.builds(
                Block,
                st.integers(0, 40_000).map(lambda size: "x" * size),
                st.sampled_from(["text", "output"]),
            ),
            min_size=1,
            max_size=6,
        ),
        min_size=1,
    ),
    st.integers(4_000, 60_000),
)
def test_it_always_fits_and_every_cut_is_told(material: dict[str, list[Block]], budget: int) -> None:
    texts, notes = fit(material, budget)
    whole = {name: "\n\n".join(block.text for block in blocks) for name, blocks in material.items()}
    assert sum(map(len, texts.values())) <= budget + 100
    assert (texts == whole) == (notes == [])
    assert (texts, notes) == fit(material, budget)
