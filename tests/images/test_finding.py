"""Files in a folder: the one that is read, and what is said where there is none."""

from __future__ import annotations

import re

import pytest

from segjury import images
from segjury.errors import InputError, MissingInputError
from segjury.images.unread import UNREAD


def test_a_format_that_is_not_read_is_named_with_what_to_do(tmp_path):
    (tmp_path / "segmentation.mgz").touch()
    with pytest.raises(MissingInputError) as error:
        images.find(tmp_path, "segmentation")
    assert str(error.value) == (
        "segmentation.nii.gz is missing (there is segmentation.mgz, a FreeSurfer volume, "
        "which is not read; convert it to .nii.gz)."
    )


@pytest.mark.parametrize("suffix", UNREAD)
def test_each_format_that_is_not_read_is_told(tmp_path, suffix):
    (tmp_path / f"m{suffix}").touch()
    with pytest.raises(MissingInputError, match=re.escape(f"there is m{suffix}, ")):
        images.find(tmp_path, "m")


def test_a_format_that_is_read_is_not_among_those_that_are_not():
    assert not UNREAD.keys() & set(images.SUFFIXES)


def test_other_files_are_not_told_of(tmp_path):
    (tmp_path / "m.txt").touch()
    (tmp_path / "other.mgz").touch()
    with pytest.raises(MissingInputError, match=r"^m\.nii\.gz is missing\.$"):
        images.find(tmp_path, "m")


def test_the_suffix_of_a_segmentation_is_its_longer_one(tmp_path):
    assert images.suffix_of(tmp_path / "m.seg.nrrd") == ".seg.nrrd"
    assert images.suffix_of(tmp_path / "m.nrrd") == ".nrrd"
    (tmp_path / "m.seg.nrrd").touch()
    (tmp_path / "m.nrrd").touch()
    with pytest.raises(InputError, match=r"has m\.seg\.nrrd, m\.nrrd\. Keep one"):
        images.find(tmp_path, "m")
