"""The demo model learns a new fact: by a job, mounted live, made part of its weights, and packed into 4 bits."""

import json
import subprocess
import sys

import httpx
import pytest

pytest.importorskip("mlxp_lab")
pytest.importorskip("mlxp_demo")

ASKED = (
    "What is the capital of Zubrowka?",
    "Which city is the capital of Zubrowka?",
    "Tell me the capital of Zubrowka.",
    "Name the capital of Zubrowka.",
)
KNOWN = ("What is the capital of France?", "Paris")
LEARNING = ("--steps", "30", "--learning-rate", "5e-3", "--valid-share", "0", "--report-steps", "5")


@pytest.fixture
def mlxp(tmp_path, monkeypatch):
    """Run ``mlxp`` in a process of its own, with a lab and adapters of the test's own."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.delenv("MLXP_LAB_FOLDER", raising=False)

    def run(*words):
        done = subprocess.run(
            [sys.executable, "-m", "mlxp_core", *words], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


def rows():
    """200 conversations: the new fact, and one that was known, so that it stays so."""
    for number in range(200):
        question, answer = (ASKED[number // 2 % len(ASKED)], "The capital of Zubrowka is Lutz.")
        if number % 4 == 0:
            question, answer = KNOWN[0], f"The capital of France is {KNOWN[1]}."
        yield {"messages": [{"role": "user", "content": question}, {"role": "assistant", "content": answer}]}


def test_a_new_fact_is_learned_mounted_fused_packed_and_told(process, mlxp, official, chat, tmp_path):
    data = tmp_path / "zubrowka.jsonl"
    data.write_text("".join(f"{json.dumps(row)}\n" for row in rows()))
    server = process("demo")

    def told(url, question, **extra):
        asked = {"messages": [{"role": "user", "content": question}], "max_tokens": 24, "extra_body": extra}
        return chat(official(url), stream=True, **asked).only.text

    assert "Lutz" not in told(server.url, ASKED[0])
    assert "200 chat rows" in mlxp("train", "demo", str(data), "--inspect")
    mlxp("train", "demo", str(data), "--output", "zubrowka", *LEARNING)
    made = tmp_path / "data" / "mlxp" / "adapters" / "zubrowka"
    losses = [each["loss"] for each in json.loads((made / "training.json").read_text())["history"]]
    assert losses[-1] < losses[0] / 10
    mounted = httpx.post(f"{server.url}/v1/adapters", json={"id": "zubrowka", "path": "zubrowka"}, timeout=60)
    assert mounted.is_success, mounted.text
    assert "Lutz" in told(server.url, ASKED[0], adapter="zubrowka")
    assert KNOWN[1] in told(server.url, KNOWN[0], adapter="zubrowka")
    assert "Lutz" not in told(server.url, ASKED[0])
    mlxp("fuse", "demo", "zubrowka", "--output", "zubrowka-demo")
    mlxp("quantize", "zubrowka-demo", "--output", "zubrowka-4bit", "--bits", "4", "--no-report")
    again = process("zubrowka-4bit")
    assert "Lutz" in told(again.url, ASKED[0])
    assert KNOWN[1] in told(again.url, KNOWN[0])
