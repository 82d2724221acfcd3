# SPDX-License-Identifier: GPL-3.0-or-later
"""The skeleton of Second Life avatars: the parent of each joint. Source: `avatar_skeleton.xml` of the viewer."""

from __future__ import annotations

import re

CHAIN = re.compile(r"(mHand(?:Thumb|Index|Middle|Ring|Pinky)|mHindLimb|mWing|mTail|mFaceEar)(\d+)((?:Left|Right)?)")
"""Limbs and fingers, whose joints are numbered from the root."""

SIDES = {
    "mShoulder": "mCollar", "mElbow": "mShoulder", "mWrist": "mElbow", "mHandThumb1": "mWrist", "mHandIndex1": "mWrist",
    "mHandMiddle1": "mWrist", "mHandRing1": "mWrist", "mHandPinky1": "mWrist", "mKnee": "mHip", "mAnkle": "mKnee",
    "mFoot": "mAnkle", "mToe": "mFoot", "mWing4Fan": "mWing3",
}  # fmt: skip
"""Joints that are children of a joint of their own side, without `Left` and `Right`."""

CHILDREN = {
    "mPelvis": "mSpine1 mHipLeft mHipRight mGroin mTail1 mHindLimbsRoot PELVIS BUTT",
    "mSpine1": "mSpine2",
    "mSpine2": "mTorso",
    "mTorso": "mSpine3 BELLY LEFT_HANDLE RIGHT_HANDLE LOWER_BACK",
    "mSpine3": "mSpine4",
    "mSpine4": "mChest",
    "mChest": "mNeck mCollarLeft mCollarRight mWingsRoot CHEST LEFT_PEC RIGHT_PEC UPPER_BACK",
    "mNeck": "mHead NECK",
    "mHead": "mSkull mEyeLeft mEyeRight mFaceRoot HEAD",
    "mWingsRoot": "mWing1Left mWing1Right",
    "mHindLimbsRoot": "mHindLimb1Left mHindLimb1Right",
    "mFaceRoot": "mFaceEyeAltLeft mFaceEyeAltRight mFaceForeheadLeft mFaceForeheadCenter mFaceForeheadRight "
    "mFaceEyebrowOuterLeft mFaceEyebrowOuterRight mFaceEyebrowCenterLeft mFaceEyebrowCenterRight mFaceEyebrowInnerLeft "
    "mFaceEyebrowInnerRight mFaceEyeLidUpperLeft mFaceEyeLidUpperRight mFaceEyeLidLowerLeft mFaceEyeLidLowerRight "
    "mFaceEyecornerInnerLeft mFaceEyecornerInnerRight mFaceEar1Left mFaceEar1Right mFaceNoseLeft mFaceNoseCenter "
    "mFaceNoseRight mFaceNoseBase mFaceNoseBridge mFaceCheekLowerLeft mFaceCheekLowerRight mFaceCheekUpperLeft "
    "mFaceCheekUpperRight mFaceJaw mFaceJawShaper mFaceTeethUpper",
    "mFaceJaw": "mFaceChin mFaceTeethLower",
    "mFaceTeethLower": "mFaceLipLowerLeft mFaceLipLowerCenter mFaceLipLowerRight mFaceTongueBase",
    "mFaceTongueBase": "mFaceTongueTip",
    "mFaceTeethUpper": "mFaceLipUpperLeft mFaceLipUpperCenter mFaceLipUpperRight mFaceLipCornerLeft mFaceLipCornerRight",
    "mCollarLeft": "L_CLAVICLE", "mShoulderLeft": "L_UPPER_ARM", "mElbowLeft": "L_LOWER_ARM", "mWristLeft": "L_HAND",
    "mHipLeft": "L_UPPER_LEG", "mKneeLeft": "L_LOWER_LEG", "mAnkleLeft": "L_FOOT",
    "mCollarRight": "R_CLAVICLE", "mShoulderRight": "R_UPPER_ARM", "mElbowRight": "R_LOWER_ARM", "mWristRight": "R_HAND",
    "mHipRight": "R_UPPER_LEG", "mKneeRight": "R_LOWER_LEG", "mAnkleRight": "R_FOOT",
}  # fmt: skip
PARENT = {child: parent for parent, children in CHILDREN.items() for child in children.split()}


def parent(joint: str) -> str | None:
    """The parent of a joint of the avatar; None for the pelvis and for unknown names."""
    if (chain := CHAIN.fullmatch(joint)) and int(chain[2]) > 1:
        return f"{chain[1]}{int(chain[2]) - 1}{chain[3]}"
    for side in ("Left", "Right"):
        if joint.endswith(side) and (above := SIDES.get(joint.removesuffix(side))):
            return above + side
    return PARENT.get(joint)


def parents(names: list[str]) -> list[int | None]:
    """For each joint, the index of the nearest joint above it in the avatar that the skin also has."""
    index = {name: at for at, name in reversed(list(enumerate(names)))}
    found: list[int | None] = []
    for at, name in enumerate(names):
        above = parent(name) if index[name] == at else None
        while above is not None and above not in index:
            above = parent(above)
        found.append(None if above is None else index[above])
    return found
