/// The amount of a file that is read. Each level includes the levels before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Depth {
    /// Headers, and for an inspection also data that costs little to read.
    #[default]
    Headers,
    /// Also the beginning of each snapshot, for an inspection. Rows contain nothing from there, and are the rows of `Headers`.
    Snapshots,
    /// Also positions and triangles, for all counts and bounding boxes.
    Meshes,
    /// Everything, with a check of every value: also for the findings and errors that `meshmap verify` reports.
    Everything,
}
