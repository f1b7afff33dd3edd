import pytest

from mlxp_core.memory.chips import bandwidth, machines
from mlxp_core.memory.machine import host_memory, read_machine

GIB = 2**30
KIB_OF_16_GIB = 16 * 2**20


@pytest.fixture
def host(tmp_path):
    proc, cgroup = tmp_path / "proc", tmp_path / "cgroup"
    proc.mkdir()
    (cgroup / "memory").mkdir(parents=True)
    lines = f"MemTotal: {KIB_OF_16_GIB} kB\nMemAvailable: {KIB_OF_16_GIB // 2} kB\nHugePages_Total: 0\n"
    (proc / "meminfo").write_text(lines)
    return proc, cgroup


def read(backend, info, host):
    proc, cgroup = host
    return read_machine(backend, info, proc=proc, cgroup=cgroup, host_bytes=4 * GIB)


def test_metal_may_take_nine_tenths_of_its_working_set(host):
    info = {
        "device_name": "Apple M3 Max",
        "memory_size": 64 * GIB,
        "max_recommended_working_set_size": 48 * GIB,
    }
    found = read("metal", info, host)
    assert (found.chip, found.ram_bytes, found.bandwidth_gbs) == ("M3 Max", 64 * GIB, 400.0)
    assert found.usable_bytes == pytest.approx(0.9 * 48 * GIB)


def test_cuda_may_take_nine_tenths_of_what_is_free(host):
    info = {"device_name": "NVIDIA H200", "total_memory": 140 * GIB, "free_memory": 100 * GIB}
    found = read("cuda", info, host)
    assert (found.chip, found.ram_bytes, found.bandwidth_gbs) == ("NVIDIA H200", 140 * GIB, None)
    assert found.usable_bytes == pytest.approx(90 * GIB)


def test_a_processor_may_take_eight_tenths_of_what_is_available(host):
    found = read("cpu", {"device_name": "AMD EPYC"}, host)
    assert (found.ram_bytes, found.usable_bytes) == (16 * GIB, int(8 * GIB * 0.8))


def test_without_meminfo_the_host_says_how_much_there_is(tmp_path):
    assert host_memory(tmp_path, tmp_path, 4 * GIB) == (4 * GIB, 4 * GIB)


@pytest.mark.parametrize(
    "names",
    [
        ("memory.max", "memory.current", "memory.stat", "inactive_file"),
        (
            "memory/memory.limit_in_bytes",
            "memory/memory.usage_in_bytes",
            "memory/memory.stat",
            "total_inactive_file",
        ),
    ],
    ids=["v2", "v1"],
)
def test_a_control_group_limits_it_but_cached_files_can_be_given_back(host, names):
    proc, cgroup = host
    limit, used, stat, entry = names
    (cgroup / limit).write_text(f"{4 * GIB}\n")
    (cgroup / used).write_text(f"{3 * GIB}\n")
    (cgroup / stat).write_text(f"anon 5\n{entry} {GIB}\n")
    assert host_memory(proc, cgroup, 0) == (4 * GIB, 2 * GIB)


def test_a_control_group_without_limit_limits_nothing(host):
    proc, cgroup = host
    (cgroup / "memory.max").write_text("max\n")
    assert host_memory(proc, cgroup, 0) == (16 * GIB, 8 * GIB)


def test_every_apple_chip_is_there_with_every_size():
    assert len(machines()) == 41
    assert len({(machine.chip, machine.ram_bytes) for machine in machines()}) == 41
    assert (bandwidth("M4 Pro"), bandwidth("M1"), bandwidth("a toaster")) == (273.0, 68.0, None)
