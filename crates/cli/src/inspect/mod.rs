//! What is shown of a file of each format: a few words, or a page.

use meshmap::{MeshFile, Result};

use crate::page::Page;

pub(crate) mod cgeo;
mod iqm;
mod openctm;
mod slmesh;
mod tmf;

/// Format and version: `IQM 2`.
pub(crate) fn variant(file: &MeshFile) -> String {
    match file {
        MeshFile::CGeo(proxy) => cgeo::variant(proxy),
        MeshFile::Iqm(model) => format!("IQM {}", model.version()),
        MeshFile::OpenCtm(bodies) => openctm::variant(bodies),
        MeshFile::SlMesh(_) => "Second Life mesh asset".to_owned(),
        MeshFile::Tmf(document) => tmf::variant(document),
        other => other.format().to_string(),
    }
}

/// The parts of a file, in a few words.
pub(crate) fn summary(file: &MeshFile) -> String {
    match file {
        MeshFile::CGeo(proxy) => cgeo::summary(proxy),
        MeshFile::Iqm(model) => iqm::summary(model),
        MeshFile::OpenCtm(bodies) => openctm::summary(bodies),
        MeshFile::SlMesh(asset) => slmesh::summary(asset),
        MeshFile::Tmf(document) => tmf::summary(document),
        _ => String::new(),
    }
}

/// The page about a file; with `full`, all of its numbers are computed, whatever they cost to read.
pub(crate) fn page(file: &MeshFile, full: bool) -> Result<Page> {
    Ok(match file {
        MeshFile::CGeo(proxy) => cgeo::page(proxy, full)?,
        MeshFile::Iqm(model) => iqm::page(model, full)?,
        MeshFile::OpenCtm(bodies) => openctm::page(bodies, full),
        MeshFile::SlMesh(asset) => slmesh::page(asset, full)?,
        MeshFile::Tmf(document) => tmf::page(document, full)?,
        other => Page { subtitle: other.format().to_string(), ..Page::default() },
    })
}
