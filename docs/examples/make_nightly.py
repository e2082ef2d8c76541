"""Made the two logs in nightly/: inspect_ai 0.3.285 with a mock model whose answers are scripted.

Forty questions, the same on both days. On Friday ten answers are right that were wrong on Monday, and one is wrong that
was right. Run it with inspect_ai installed: python docs/examples/make_nightly.py FOLDER
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from inspect_ai import Task
from inspect_ai import eval as evaluate
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import match

COUNT = 40
WRONG = {"monday": {*range(3, 36, 2)}, "friday": {*range(23, 36, 2), 40}}
TOPICS = ("refunds", "delivery", "accounts", "plants")


def samples() -> list[Sample]:
    return [
        Sample(
            id=f"q{number:02}",
            input=f"How many days does step {number} of the {TOPICS[number % 4]} process take?",
            target=str(number),
            metadata={"topic": TOPICS[number % 4]},
        )
        for number in range(1, COUNT + 1)
    ]


def answer(number: int, is_wrong: bool) -> ModelOutput:
    """What the model says; its usage is told, too, since Inspect would count the tokens with files from the network."""
    output = ModelOutput.from_content("mockllm/model", f"It takes {number + 100 * is_wrong}")
    output.usage = ModelUsage(input_tokens=20 + number % 7, output_tokens=6 + number % 3, total_tokens=0)
    output.usage.total_tokens = output.usage.input_tokens + output.usage.output_tokens
    return output


def main(folder: Path) -> None:
    for day, wrong in WRONG.items():
        outputs = [answer(number, number in wrong) for number in range(1, COUNT + 1)]
        model = get_model("mockllm/model", custom_outputs=outputs)
        (log,) = evaluate(
            Task(dataset=samples(), scorer=match(numeric=True), name="support_bot"),
            model=model,
            max_connections=1,
            max_samples=1,
            log_dir=str(folder / "logs"),
            display="none",
        )
        shutil.move(log.location, folder / f"{day}.eval")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
