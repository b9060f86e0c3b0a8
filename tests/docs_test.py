"""The pages whose code "runs as it stands": they are run."""

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[1] / "docs"


@pytest.mark.slow
@pytest.mark.parametrize("page", ["tasks", "fine-tuning"])
@pytest.mark.filterwarnings("ignore:`y` holds one class only")
def test_the_code_of_a_page_runs_as_it_stands(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # for the files that it writes
    blocks = re.findall(r"```python\n(.*?)```", (DOCS / f"{page}.md").read_text(), re.DOTALL)

    assert len(blocks) > 3
    exec(compile("\n".join(blocks), f"docs/{page}.md", "exec"), {"__name__": "__main__"})
