//! The skeleton of avatars of Second Life: the parent of each joint. Source: `avatar_skeleton.xml` of the viewer.

use std::collections::HashMap;

/// Returns, for each joint, the index of the nearest joint above it in the viewer's avatar that the list also has: assets do not store
/// the hierarchy of their joints.
///
/// `None` for joints without one, and for names that the avatar does not have. If several joints have one name, all but the first get
/// `None`. Source: `avatar_skeleton.xml` of the viewer.
///
/// # Examples
///
/// ```
/// use meshmap::slmesh::joint_parents;
///
/// let names = ["mHead", "mPelvis", "table leg", "mChest"];
/// assert_eq!(joint_parents(&names), [Some(3), None, None, Some(1)]);
/// ```
#[must_use]
pub fn joint_parents<N: AsRef<str>>(names: &[N]) -> Vec<Option<usize>> {
    let indices: HashMap<&str, usize> = names
        .iter()
        .enumerate()
        .rev()
        .map(|(index, name)| (name.as_ref(), index))
        .collect();
    let parent_of = |(index, name): (usize, &N)| {
        if indices.get(name.as_ref()) != Some(&index) {
            return None;
        }
        let mut above = parent(name.as_ref());
        while let Some(name) = above {
            if let Some(parent) = indices.get(name.as_str()) {
                return Some(*parent);
            }
            above = parent(&name);
        }
        None
    };
    names.iter().enumerate().map(parent_of).collect()
}

/// The parent of a joint of the avatar; `None` for the pelvis and for unknown names.
fn parent(joint: &str) -> Option<String> {
    let (middle, side) = match joint.strip_suffix("Left") {
        Some(middle) => (middle, "Left"),
        None => joint
            .strip_suffix("Right")
            .map_or((joint, ""), |middle| (middle, "Right")),
    };
    // Limbs and fingers, whose joints are numbered from the root.
    let chains = [
        "mHandThumb",
        "mHandIndex",
        "mHandMiddle",
        "mHandRing",
        "mHandPinky",
        "mHindLimb",
        "mWing",
        "mTail",
        "mFaceEar",
    ];
    for chain in chains {
        let Some(number) = middle
            .strip_prefix(chain)
            .and_then(|number| number.parse::<u32>().ok())
        else {
            continue;
        };
        if let Some(above) = number.checked_sub(1).filter(|above| *above > 0) {
            return Some(format!("{chain}{above}{side}"));
        }
    }
    if let Some(volume) = volume(joint) {
        return Some(volume.to_owned());
    }
    if !side.is_empty()
        && let Some((_, parent)) = SIDES.iter().find(|(child, _)| *child == middle)
    {
        return Some(format!("{parent}{side}"));
    }
    let (_, parent) = JOINTS
        .iter()
        .find(|(children, _)| children.contains(&joint))?;
    Some((*parent).to_owned())
}

/// The joint of a volume for collisions.
fn volume(name: &str) -> Option<&'static str> {
    Some(match name {
        "PELVIS" | "BUTT" => "mPelvis",
        "BELLY" | "LEFT_HANDLE" | "RIGHT_HANDLE" | "LOWER_BACK" => "mTorso",
        "CHEST" | "LEFT_PEC" | "RIGHT_PEC" | "UPPER_BACK" => "mChest",
        "NECK" => "mNeck",
        "HEAD" => "mHead",
        "L_CLAVICLE" => "mCollarLeft",
        "L_UPPER_ARM" => "mShoulderLeft",
        "L_LOWER_ARM" => "mElbowLeft",
        "L_HAND" => "mWristLeft",
        "L_UPPER_LEG" => "mHipLeft",
        "L_LOWER_LEG" => "mKneeLeft",
        "L_FOOT" => "mAnkleLeft",
        "R_CLAVICLE" => "mCollarRight",
        "R_UPPER_ARM" => "mShoulderRight",
        "R_LOWER_ARM" => "mElbowRight",
        "R_HAND" => "mWristRight",
        "R_UPPER_LEG" => "mHipRight",
        "R_LOWER_LEG" => "mKneeRight",
        "R_FOOT" => "mAnkleRight",
        _ => return None,
    })
}

/// Joints that are children of a joint on the same side, without `Left` and `Right`.
const SIDES: [(&str, &str); 14] = [
    ("mShoulder", "mCollar"),
    ("mElbow", "mShoulder"),
    ("mWrist", "mElbow"),
    ("mHandThumb1", "mWrist"),
    ("mHandIndex1", "mWrist"),
    ("mHandMiddle1", "mWrist"),
    ("mHandRing1", "mWrist"),
    ("mHandPinky1", "mWrist"),
    ("mKnee", "mHip"),
    ("mAnkle", "mKnee"),
    ("mFoot", "mAnkle"),
    ("mToe", "mFoot"),
    ("mWing4Fan", "mWing3"),
    ("mWing4", "mWing3"),
];

/// The other joints, by their parent.
const JOINTS: [(&[&str], &str); 16] = [
    (
        &[
            "mSpine1",
            "mHipLeft",
            "mHipRight",
            "mGroin",
            "mTail1",
            "mHindLimbsRoot",
        ],
        "mPelvis",
    ),
    (&["mSpine2"], "mSpine1"),
    (&["mTorso"], "mSpine2"),
    (&["mSpine3"], "mTorso"),
    (&["mSpine4"], "mSpine3"),
    (&["mChest"], "mSpine4"),
    (
        &["mNeck", "mCollarLeft", "mCollarRight", "mWingsRoot"],
        "mChest",
    ),
    (&["mHead"], "mNeck"),
    (&["mSkull", "mEyeLeft", "mEyeRight", "mFaceRoot"], "mHead"),
    (&["mWing1Left", "mWing1Right"], "mWingsRoot"),
    (&["mHindLimb1Left", "mHindLimb1Right"], "mHindLimbsRoot"),
    (
        &[
            "mFaceEyeAltLeft",
            "mFaceEyeAltRight",
            "mFaceForeheadLeft",
            "mFaceForeheadCenter",
            "mFaceForeheadRight",
            "mFaceEyebrowOuterLeft",
            "mFaceEyebrowOuterRight",
            "mFaceEyebrowCenterLeft",
            "mFaceEyebrowCenterRight",
            "mFaceEyebrowInnerLeft",
            "mFaceEyebrowInnerRight",
            "mFaceEyeLidUpperLeft",
            "mFaceEyeLidUpperRight",
            "mFaceEyeLidLowerLeft",
            "mFaceEyeLidLowerRight",
            "mFaceEyecornerInnerLeft",
            "mFaceEyecornerInnerRight",
            "mFaceEar1Left",
            "mFaceEar1Right",
            "mFaceNoseLeft",
            "mFaceNoseCenter",
            "mFaceNoseRight",
            "mFaceNoseBase",
            "mFaceNoseBridge",
            "mFaceCheekLowerLeft",
            "mFaceCheekLowerRight",
            "mFaceCheekUpperLeft",
            "mFaceCheekUpperRight",
            "mFaceJaw",
            "mFaceJawShaper",
            "mFaceTeethUpper",
        ],
        "mFaceRoot",
    ),
    (&["mFaceChin", "mFaceTeethLower"], "mFaceJaw"),
    (
        &[
            "mFaceLipLowerLeft",
            "mFaceLipLowerCenter",
            "mFaceLipLowerRight",
            "mFaceTongueBase",
        ],
        "mFaceTeethLower",
    ),
    (&["mFaceTongueTip"], "mFaceTongueBase"),
    (
        &[
            "mFaceLipUpperLeft",
            "mFaceLipUpperCenter",
            "mFaceLipUpperRight",
            "mFaceLipCornerLeft",
            "mFaceLipCornerRight",
        ],
        "mFaceTeethUpper",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_joint_ends_at_the_pelvis() {
        let listed = JOINTS
            .iter()
            .flat_map(|(children, _)| children.iter().map(|child| (*child).to_owned()));
        let sides = ["Left", "Right"];
        let both = SIDES
            .iter()
            .flat_map(|(child, _)| sides.map(|side| format!("{child}{side}")));
        let others = [
            "mTail6",
            "mHandPinky3Right",
            "mWing4FanLeft",
            "mHindLimb4Left",
            "L_FOOT",
            "mFaceTongueTip",
        ];
        for joint in listed.chain(both).chain(others.map(str::to_owned)) {
            let mut at = joint.clone();
            for _ in 0..20 {
                match parent(&at) {
                    Some(parent) => at = parent,
                    None => break,
                }
            }
            assert_eq!(at, "mPelvis", "{joint}");
        }
        assert_eq!(parent("mKneeLeft").as_deref(), Some("mHipLeft"));
        assert_eq!(
            parent("mHandIndex2Right").as_deref(),
            Some("mHandIndex1Right")
        );
        assert_eq!(parent("mWing4FanLeft").as_deref(), Some("mWing3Left"));
        assert_eq!(parent("table leg"), None);
    }
}
