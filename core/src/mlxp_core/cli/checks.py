"""What can be wrong with a machine and an installation; each check is a function of what was found."""

from collections.abc import Iterable, Mapping
from typing import Literal

from msgspec import Struct

from mlxp_core.contracts import PluginReport

OLDEST_PYTHON = (3, 11)


class Finding(Struct, frozen=True):
    """One result: ``wrong`` must be repaired, a ``warning`` should be known."""

    topic: str
    level: Literal["ok", "warning", "wrong"]
    text: str


class MlxFacts(Struct, frozen=True):
    """What a try of MLX gave: version, device and linear algebra libraries, or the error.

    Attributes:
        version: of MLX; empty when it failed.
        device: ``Metal``, ``CUDA`` or ``CPU``.
        blas: file names of the linear algebra libraries in the process.
        error: the last line it said when it failed.
    """

    version: str = ""
    device: str = ""
    blas: tuple[str, ...] = ()
    error: str | None = None


def python_finding(version: tuple[int, int, int]) -> Finding:
    """Judge the running Python."""
    shown = ".".join(map(str, version))
    if version[:2] >= OLDEST_PYTHON:
        return Finding("python", "ok", shown)
    return Finding(
        "python", "wrong", f"{shown} is too old; install {'.'.join(map(str, OLDEST_PYTHON))} or newer"
    )


def back_ends(installed: Iterable[str]) -> list[str]:
    """Return the distributions among ``installed`` that bring a back end of MLX."""
    return sorted(name for name in installed if name == "mlx-cpu" or name.startswith("mlx-cuda"))


def mlx_findings(facts: MlxFacts, installed: Mapping[str, str], platform: str) -> list[Finding]:
    """Judge MLX.

    Args:
        facts: what a try of it gave.
        installed: normalized distribution name -> version.
        platform: ``sys.platform``.
    """
    ends = back_ends(installed)
    findings = []
    if facts.error is None:
        findings.append(Finding("mlx", "ok", f"{facts.version} on {facts.device}"))
        findings += _device_findings(facts, ends)
    elif platform == "linux" and not ends:
        findings.append(
            Finding(
                "mlx",
                "wrong",
                "no back end is installed: pip install 'mlxp-core[cuda]' on a machine with an NVIDIA GPU, "
                "pip install 'mlxp-core[cpu]' on any other",
            )
        )
    else:
        findings.append(Finding("mlx", "wrong", f"cannot be used: {facts.error}; reinstall mlx"))
    if len(ends) > 1:
        text = f"{' and '.join(ends)} write the same file, so only one of them works: uninstall both, install one"
        findings.append(Finding("mlx", "wrong", text))
    return findings


def _device_findings(facts: MlxFacts, ends: list[str]) -> list[Finding]:
    findings = []
    if facts.device == "CPU" and any(name.startswith("mlx-cuda") for name in ends):
        text = "the CUDA back end is installed but MLX computes on the CPU; does nvidia-smi show a GPU?"
        findings.append(Finding("mlx", "warning", text))
    if facts.blas:
        findings.append(_blas_finding(facts))
    return findings


def _blas_finding(facts: MlxFacts) -> Finding:
    shown = ", ".join(facts.blas)
    if any(word in name for name in facts.blas for word in ("openblas", "mkl", "blis", "Accelerate")):
        return Finding("blas", "ok", shown)
    text = f"{shown} (the reference library: float32 products are slow; mlxp-core[cpu] brings a fast one)"
    return Finding("blas", "warning" if facts.device == "CPU" else "ok", text)


def distribution_findings(installed: Mapping[str, str]) -> list[Finding]:
    """Judge the installed distributions by name.

    Args:
        installed: normalized distribution name -> version.
    """
    if "mlxp" not in installed:
        return []
    text = f"the distribution mlxp {installed['mlxp']} is another project; if you meant this one, it is mlxp-server"
    return [Finding("distributions", "warning", text)]


def plugin_findings(reports: Iterable[PluginReport]) -> list[Finding]:
    """Judge the plugins."""
    reports = list(reports)
    count = sum(report.state == "on" for report in reports)
    findings = [Finding("plugins", "ok", f"{count} on")]
    for report in reports:
        if report.fault is not None:
            where = f"{report.name} ({report.module}, {report.dist} {report.version})"
            findings.append(Finding("plugins", "wrong", f"{where}: {report.fault}"))
        findings += [Finding("plugins", "warning", f"{report.name}: {text}") for text in report.warnings]
    return findings
