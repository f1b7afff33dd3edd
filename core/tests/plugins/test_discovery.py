from importlib.metadata import entry_points

from mlxp_core.plugins.discovery import discover, given


def test_plugins_are_found_without_importing_anything(site):
    site.add("mlxp-loud", {"loud": "raise AssertionError('imported')"})
    (found,) = discover(site.path)
    assert (found.name, found.module, found.dist, found.version) == (
        "loud",
        "mlxp_loud_loud",
        "mlxp-loud",
        "1.0",
    )


def test_requirements_are_read_from_the_headers_only(site):
    site.add("mlxp-quiet", {"quiet": ""}, requires=("mlxp-core>=0.1", "httpx; extra == 'web'"))
    (found,) = discover(site.path)
    assert found.requires == ("mlxp-core>=0.1", "httpx; extra == 'web'")


def test_the_order_is_by_distribution_and_name_whatever_the_disk_says(site):
    site.add("mlxp-b", {"z": "", "a": ""})
    site.add("mlxp-a", {"m": ""})
    assert [each.name for each in discover(site.path)] == ["m", "a", "z"]


def test_a_second_copy_of_a_distribution_is_shadowed_by_the_first(site, tmp_path):
    site.add("mlxp-twin", {"twin": ""}, version="2.0")
    first = site.path
    other = tmp_path / "later"
    other.mkdir()
    copy = other / "Mlxp_Twin-1.0.dist-info"
    copy.mkdir()
    (copy / "METADATA").write_text("Name: Mlxp_Twin\nVersion: 1.0\n")
    (copy / "entry_points.txt").write_text("[mlxp]\ntwin = elsewhere\n")
    (found,) = discover([*first, str(other)])
    assert found.version == "2.0"


def test_folded_headers_comments_and_spaces_are_read(site):
    home = site.folder / "old-1.0.dist-info"
    home.mkdir()
    (home / "METADATA").write_text(
        "NAME: old\nVersion: 1.0\nRequires-Dist: mlxp-core\n  >=0.1\n\nName: prose\n"
    )
    (home / "entry_points.txt").write_text("# ours\n[ mlxp ]\n; none\n\n  a-b=package.module : thing\n")
    (found,) = discover(site.path)
    assert (found.name, found.module, found.dist) == ("a-b", "package.module : thing", "old")
    assert found.requires == ("mlxp-core >=0.1",)


def test_what_the_standard_library_finds_in_this_environment_is_what_we_find():
    assert {(each.name, each.module) for each in discover()} == {
        (point.name, point.value) for point in entry_points(group="mlxp")
    }


def test_other_groups_are_left_alone(site):
    site.add("mlxp-none", {})
    home = site.folder / "other-1.0.dist-info"
    home.mkdir()
    (home / "METADATA").write_text("Name: other\nVersion: 1.0\n")
    (home / "entry_points.txt").write_text("[mlxp.lab]\nx = y\n[console_scripts]\nmlxp = a:b\n")
    assert discover(site.path) == ()


def test_no_folders_means_no_plugins():
    assert discover(()) == ()


def test_a_plugin_at_hand_is_handed_back():
    plugin = object()
    assert given("mine", plugin).load() is plugin
