"""Every kind of problem that a check finds, by its name for machines.

Names never change; `docs/check.md` has the same table.
"""

from __future__ import annotations

KINDS: dict[str, str] = {
    # files
    "missing-file": "a file that the protocol expects is not there",
    "two-files": "one mask or map is there in two formats",
    "link-outside": "a link leads out of the folder of the method",
    "unreadable-file": "the file is empty, cut short, broken or of another format",
    "other-shape": "another number of voxels than the reference",
    "other-spacing": "another spacing than the reference",
    "other-origin": "another origin than the reference",
    "other-direction": "axes in other directions than the reference's",
    "odd-spacing": "a spacing below 0.01 mm or above 50 mm, or 20 times another axis's",
    "not-whole-numbers": "a mask with values between the labels",
    "unknown-label": "a mask with a label that the protocol does not know",
    "same-file": "a prediction's file is the reference's or another method's, by a hard link",
    "bad-name": "a name of a case or method that is too long, or that cannot be shown",
    "formula-name": "a name of a case or method that a spreadsheet would compute",
    "stray-files": "files that nothing reads",
    "hidden-files": "hidden or temporary files",
    # reference
    "empty-case": "a case folder without any file of the protocol",
    "empty-rater": "a rater who marks nothing",
    "absent-label": "a rater's mask without some of the labels",
    "extra-rater": "a rater beyond those of the protocol",
    "copied-rater": "two raters of a case with the same mask",
    "copied-case": "two cases with the same masks",
    "empty-structures": "a label map of structures that marks nothing",
    "absent-structure": "structures that the case does not have",
    "consensus-apart": "a given consensus that shares no voxel with any rater",
    "consensus-differs": "a given consensus with a Dice below 0.95 with the STAPLE of the raters",
    "partial-consensus": "a consensus is given for other cases, but not for this one",
    "touches-border": "raters' marks at the border of the image, where most cases have none",
    "odd-volume": "a volume over 100 times, or below a 100th of, the median over the cases",
    "missing-image": "the image that the protocol names is not there",
    "constant-image": "an image with one value everywhere",
    "nan-image": "an image with NaN or infinite values",
    "look-alike-cases": "names of cases that differ in capitals, zeros or separators only",
    # table of cases
    "broken-case-table": "the table of cases cannot be read, or lacks a column",
    "double-case": "a case with two lines in the table of cases",
    "case-not-in-table": "a case without a line in the table of cases",
    "missing-case-table": "the protocol names columns of a table that is not there",
    "unknown-case-in-table": "a line about a case that the reference does not have",
    "empty-cell": "a case without a value in a column that the protocol names",
    # predictions
    "missing-prediction": "no prediction of a case",
    "empty-method": "a method without a prediction of any case",
    "unknown-case": "a prediction of a case that the reference does not have",
    "both-layouts": "a prediction that is there as a folder and as nnU-Net's files",
    "empty-prediction": "a predicted mask that marks nothing",
    "covers-image": "a predicted mask of more than half the image: inverted?",
    "nan-probability": "a probability map with NaN",
    "out-of-range": "a probability map with values below 0 or above 1",
    "map-is-a-mask": "a probability map that holds only 0 and 1",
    "map-contradicts-mask": "a mask that is neither p > 0.5, nor inside it, nor around it",
    "sum-over-one": "probability maps of several labels that add up to more than 1",
    "mirrored": "a mask that meets the raters far better when flipped along an axis",
    "no-overlap": "a method that meets no rater in half of its cases or more",
    "copied-reference": "a predicted mask that marks the same voxels as a rater",
    "same-prediction": "two methods with the same mask and maps",
    "repeated-prediction": "a method with the same mask and maps for two cases",
    "look-alike-methods": "names of methods that differ in capitals, zeros or separators only",
}
