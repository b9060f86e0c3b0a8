"""Questions on paragraphs, from the JSON files of SQuAD 1.1 and 2.0."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from kerasbert.data.json_documents import stream_array
from kerasbert.data.lines import existing_file, malformed
from kerasbert.data.streams import ExampleStream

_FORMAT = "Give a file in SQuAD's format"


@dataclass(frozen=True)
class SquadQuestions:
    """Questions, each on one paragraph, with their right answers.

    Args:
        ids: One string per question.
        questions: One string per question.
        contexts: The paragraph of each question.
        answers: A list per question of dicts `text`, `start` (of its first character in the
            context); empty if there is no answer.
        titles: The title of the article that each context is from; "" where it has none.
    """

    ids: list[str]
    questions: list[str]
    contexts: list[str]
    answers: list[list[dict[str, Any]]]
    titles: list[str]

    def inputs(self) -> dict[str, list[str]]:
        """What a `QuestionAnswerer` takes: a dict `question`, `context`."""
        return {"question": self.questions, "context": self.contexts}

    def targets(self) -> list[dict[str, Any] | None]:
        """The first answer to each question, to train on; `None` if there is none."""
        return [answers[0] if answers else None for answers in self.answers]

    def references(self) -> dict[str, list[str]]:
        """All right answers by id, as `kerasbert.metrics.squad` takes them."""
        return {
            key: [answer["text"] for answer in answers]
            for key, answers in zip(self.ids, self.answers, strict=True)
        }

    def __len__(self) -> int:
        return len(self.ids)


def read_squad(path: str | os.PathLike) -> SquadQuestions:
    """Reads a file of SQuAD 1.1 or 2.0.

    A question has no answer if its `answers` are empty, as in the official script. (Their
    `plausible_answers` are not read.)

    Args:
        path: The JSON file.

    Returns:
        The questions in the file's order.

    Raises:
        FileNotFoundError: There is no such file.
        ValueError: The file is not UTF-8, not JSON or has no questions; a field is missing (the
            message names the line on which its article starts, and the question's id); an answer
            does not stand in the context where it should; `is_impossible` contradicts
            the answers; or an id stands twice.

    Example:

    >>> import json, tempfile
    >>> path = Path(tempfile.mkdtemp()) / "dev.json"
    >>> answer = {"text": "Normandy", "answer_start": 3}
    >>> question = {"id": "q1", "question": "Where?", "answers": [answer]}
    >>> paragraph = {"context": "In Normandy.", "qas": [question]}
    >>> _ = path.write_text(json.dumps({"data": [{"title": "", "paragraphs": [paragraph]}]}))
    >>> data = read_squad(path)
    >>> data.targets(), data.references()
    ([{'text': 'Normandy', 'start': 3}], {'q1': ['Normandy']})
    """
    path = existing_file(path, "JSON")
    data = SquadQuestions([], [], [], [], [])
    seen = set()
    for record in ExampleStream(path, partial(_records, path)):
        if record["id"] in seen:
            raise ValueError(
                "Two questions have the same id. Give each its own. "
                f"Received: path={str(path)!r}, id={record['id']!r}."
            )
        seen.add(record["id"])
        data.ids.append(record["id"])
        data.questions.append(record["question"])
        data.contexts.append(record["context"])
        data.answers.append(record["answers"])
        data.titles.append(record["title"])
    return data


def stream_squad(path: str | os.PathLike) -> ExampleStream:
    """Reads a file of SQuAD 1.1 or 2.0 while it is used, one article at a time in memory.

    Args:
        path: The JSON file.

    Returns:
        An iterable of dicts `question`, `context`, and `label`: the first answer as a dict `text`,
        `start`, or `None`. Each pass opens the file anew.

    Raises:
        FileNotFoundError: There is no such file.
        ValueError: As `read_squad` (but for ids that stand twice), when a pass reaches the place.

    Example:

    >>> import json, tempfile
    >>> path = Path(tempfile.mkdtemp()) / "train.json"
    >>> question = {"id": "q1", "question": "Who?", "answers": [], "is_impossible": True}
    >>> paragraph = {"context": "In Normandy.", "qas": [question]}
    >>> _ = path.write_text(json.dumps({"data": [{"title": "", "paragraphs": [paragraph]}]}))
    >>> list(stream_squad(path))
    [{'question': 'Who?', 'context': 'In Normandy.', 'label': None}]
    """
    path = existing_file(path, "JSON")
    return ExampleStream(path, partial(_examples, path))


def _examples(path: Path) -> Iterator[dict[str, Any]]:
    for record in _records(path):
        yield {
            "question": record["question"],
            "context": record["context"],
            "label": record["answers"][0] if record["answers"] else None,
        }


def _records(path: Path) -> Iterator[dict[str, Any]]:
    for line, article in stream_array(path, "data"):
        place = _Place(path, line, "an article")
        title = article.get("title", "") if isinstance(article, dict) else ""
        for paragraph in place.field(article, "paragraphs", list):
            context = place.field(paragraph, "context", str)
            for question in place.field(paragraph, "qas", list):
                key = place.field(question, "id", str)
                at = _Place(path, line, f"an article with the question id={key!r}")
                yield {
                    "id": key,
                    "question": at.field(question, "question", str),
                    "context": context,
                    "answers": _answers(question, context, at),
                    "title": title,
                }


@dataclass(frozen=True)
class _Place:
    """Where errors say that they are."""

    path: Path
    line: int
    what: str

    def field(self, holder: Any, name: str, kind: type) -> Any:
        """A field of a JSON object, which must be of a kind."""
        value = holder.get(name) if isinstance(holder, dict) else None
        if not isinstance(value, kind) or isinstance(value, bool):
            found = "" if value is None else f", but {value!r}"
            self.refuse(f"has no {name!r} of type {kind.__name__}{found}", _FORMAT)
        return value

    def refuse(self, problem: str, remedy: str):
        raise malformed(self.path, self.line, f"starts {self.what} that {problem}", remedy)


def _answers(question: dict, context: str, at: _Place) -> list[dict[str, Any]]:
    answers = [
        {"text": at.field(answer, "text", str), "start": at.field(answer, "answer_start", int)}
        for answer in at.field(question, "answers", list)
    ]
    for answer in answers:
        text, start = answer["text"], answer["start"]
        if start < 0 or not text or not context.startswith(text, start):
            at.refuse(
                f"has the answer {text!r}, where its context has "
                f"{context[max(start, 0) :][: len(text)]!r}",
                f"Correct `answer_start`, the answer's first character; received {start}",
            )
    if question.get("is_impossible", not answers) != (not answers):
        at.refuse(
            f"has {len(answers)} answers and `is_impossible` {question['is_impossible']!r}",
            "A question is impossible if it has no answers",
        )
    return answers
