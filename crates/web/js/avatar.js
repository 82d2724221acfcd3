// The skeleton of Second Life avatars: the parent of each joint. Source: `avatar_skeleton.xml` of the viewer.

/** Limbs and fingers, whose joints are numbered from the root. */
const CHAIN = /^(mHand(?:Thumb|Index|Middle|Ring|Pinky)|mHindLimb|mWing|mTail|mFaceEar)(\d+)((?:Left|Right)?)$/;

/** Joints that are children of a joint on the same side, without `Left` and `Right`. */
const SIDES = new Map(Object.entries({
    mShoulder: 'mCollar', mElbow: 'mShoulder', mWrist: 'mElbow', mHandThumb1: 'mWrist', mHandIndex1: 'mWrist',
    mHandMiddle1: 'mWrist', mHandRing1: 'mWrist', mHandPinky1: 'mWrist', mKnee: 'mHip', mAnkle: 'mKnee', mFoot: 'mAnkle',
    mToe: 'mFoot', mWing4Fan: 'mWing3',
}));

const CHILDREN = {
    mPelvis: 'mSpine1 mHipLeft mHipRight mGroin mTail1 mHindLimbsRoot PELVIS BUTT',
    mSpine1: 'mSpine2',
    mSpine2: 'mTorso',
    mTorso: 'mSpine3 BELLY LEFT_HANDLE RIGHT_HANDLE LOWER_BACK',
    mSpine3: 'mSpine4',
    mSpine4: 'mChest',
    mChest: 'mNeck mCollarLeft mCollarRight mWingsRoot CHEST LEFT_PEC RIGHT_PEC UPPER_BACK',
    mNeck: 'mHead NECK',
    mHead: 'mSkull mEyeLeft mEyeRight mFaceRoot HEAD',
    mWingsRoot: 'mWing1Left mWing1Right',
    mHindLimbsRoot: 'mHindLimb1Left mHindLimb1Right',
    mFaceRoot: `mFaceEyeAltLeft mFaceEyeAltRight mFaceForeheadLeft mFaceForeheadCenter mFaceForeheadRight
        mFaceEyebrowOuterLeft mFaceEyebrowOuterRight mFaceEyebrowCenterLeft mFaceEyebrowCenterRight mFaceEyebrowInnerLeft
        mFaceEyebrowInnerRight mFaceEyeLidUpperLeft mFaceEyeLidUpperRight mFaceEyeLidLowerLeft mFaceEyeLidLowerRight
        mFaceEyecornerInnerLeft mFaceEyecornerInnerRight mFaceEar1Left mFaceEar1Right mFaceNoseLeft mFaceNoseCenter
        mFaceNoseRight mFaceNoseBase mFaceNoseBridge mFaceCheekLowerLeft mFaceCheekLowerRight mFaceCheekUpperLeft
        mFaceCheekUpperRight mFaceJaw mFaceJawShaper mFaceTeethUpper`,
    mFaceJaw: 'mFaceChin mFaceTeethLower',
    mFaceTeethLower: 'mFaceLipLowerLeft mFaceLipLowerCenter mFaceLipLowerRight mFaceTongueBase',
    mFaceTongueBase: 'mFaceTongueTip',
    mFaceTeethUpper: 'mFaceLipUpperLeft mFaceLipUpperCenter mFaceLipUpperRight mFaceLipCornerLeft mFaceLipCornerRight',
    mCollarLeft: 'L_CLAVICLE', mShoulderLeft: 'L_UPPER_ARM', mElbowLeft: 'L_LOWER_ARM', mWristLeft: 'L_HAND',
    mHipLeft: 'L_UPPER_LEG', mKneeLeft: 'L_LOWER_LEG', mAnkleLeft: 'L_FOOT',
    mCollarRight: 'R_CLAVICLE', mShoulderRight: 'R_UPPER_ARM', mElbowRight: 'R_LOWER_ARM', mWristRight: 'R_HAND',
    mHipRight: 'R_UPPER_LEG', mKneeRight: 'R_LOWER_LEG', mAnkleRight: 'R_FOOT',
};
const PARENT = new Map(Object.entries(CHILDREN).flatMap(([parent, children]) => children.split(/\s+/).map((child) => [child, parent])));

/**
 * Returns the parent of a joint of the avatar; `undefined` for the pelvis and for unknown names.
 *
 * @param {string} joint
 */
function parentOf(joint) {
    const [, chain, number, side] = CHAIN.exec(joint) ?? [];
    if (Number(number) > 1) return `${chain}${Number(number) - 1}${side}`;
    const [, middle, end] = /^(.*)(Left|Right)$/.exec(joint) ?? [];
    const above = middle === undefined ? undefined : SIDES.get(middle);
    return above === undefined ? PARENT.get(joint) : above + end;
}

/**
 * Returns, for each joint, the index of the nearest joint above it in the avatar that the list also has; null for a root. If several
 * joints have one name, all but the first are roots.
 *
 * @param {string[]} names
 */
export function parentsOf(names) {
    return names.map((name, index) => {
        if (names.indexOf(name) !== index) return null;
        for (let above = parentOf(name); above !== undefined; above = parentOf(above)) {
            const parent = names.indexOf(above);
            if (parent >= 0) return parent;
        }
        return null;
    });
}
