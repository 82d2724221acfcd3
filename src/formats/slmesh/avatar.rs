//! The skeleton of avatars of Second Life: the parent of each joint. Source: `avatar_skeleton.xml` of the viewer.

use std::collections::HashMap;

/// Returns the index of the parent of each joint, from the skeleton of the viewer's avatar.
///
/// Assets do not store the hierarchy of their joints. The parent of a joint is the nearest joint
/// above it in the avatar's skeleton (`avatar_skeleton.xml` of the viewer) that is also in `names`.
/// It is `None` for joints without such a joint, for names that the avatar does not have, and, if a
/// name repeats, for all joints of this name except the first.
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
    // The first index of each name.
    let mut indices: HashMap<&str, usize> = HashMap::with_capacity(names.len());
    for (index, name) in names.iter().enumerate() {
        indices.entry(name.as_ref()).or_insert(index);
    }
    let mut parents = Vec::with_capacity(names.len());
    for (index, name) in names.iter().enumerate() {
        let name = name.as_ref();
        let is_first = indices.get(name) == Some(&index);
        parents.push(if is_first {
            nearest_above(name, &indices)
        } else {
            None
        });
    }
    parents
}

/// The index of the nearest joint above this one that has an index.
fn nearest_above(joint: &str, indices: &HashMap<&str, usize>) -> Option<usize> {
    let mut above = parent(joint)?;
    loop {
        if let Some(index) = indices.get(above.as_str()) {
            return Some(*index);
        }
        above = parent(&above)?;
    }
}

/// The parent of a joint of the avatar; `None` for the pelvis and for unknown names.
fn parent(joint: &str) -> Option<String> {
    let name = JointName::of(joint);
    if let Some(parent) = name.parent_in_chain() {
        return Some(parent);
    }
    if let Some(parent) = parent_of_volume(joint) {
        return Some(parent.to_owned());
    }
    if let Some(parent) = name.parent_on_same_side() {
        return Some(parent);
    }
    for (children, parent) in JOINTS {
        if children.contains(&joint) {
            return Some(parent.to_owned());
        }
    }
    None
}

/// The name of a joint, without the side of the body that it ends with.
#[derive(Clone, Copy)]
struct JointName<'a> {
    base: &'a str,
    /// `Left`, `Right`, or empty.
    side: &'static str,
}

impl<'a> JointName<'a> {
    fn of(joint: &'a str) -> Self {
        for side in ["Left", "Right"] {
            if let Some(base) = joint.strip_suffix(side) {
                return Self { base, side };
            }
        }
        Self {
            base: joint,
            side: "",
        }
    }

    /// The joint before this one in a chain of numbered joints: `mTail2` for `mTail3`.
    ///
    /// `None` for the first joint of a chain, whose parent is in the tables.
    fn parent_in_chain(self) -> Option<String> {
        for chain in CHAINS {
            let Some(number) = self.base.strip_prefix(chain) else {
                continue;
            };
            if let Ok(number) = number.parse::<u32>()
                && number > 1
            {
                let above = number.saturating_sub(1);
                return Some(format!("{chain}{above}{}", self.side));
            }
        }
        None
    }

    /// The parent of a joint that both sides of the body have, if the parent is on the same side.
    fn parent_on_same_side(self) -> Option<String> {
        if self.side.is_empty() {
            return None;
        }
        for (child, parent) in SIDES {
            if child == self.base {
                return Some(format!("{parent}{}", self.side));
            }
        }
        None
    }
}

/// Limbs, wings, fingers, the tail and the ears: their joints are numbered from the body on, from 1.
const CHAINS: [&str; 9] = [
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

/// The joint that a volume for collisions is a child of.
fn parent_of_volume(name: &str) -> Option<&'static str> {
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
const SIDES: [(&str, &str); 13] = [
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
