//! The formats: each reads its own files, and none knows another.

pub mod cgeo;
pub mod iqm;
pub mod openctm;
pub mod slmesh;
pub mod tmf;
