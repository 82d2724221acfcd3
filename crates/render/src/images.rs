//! The images of the surfaces of a file, each looked for and decoded once a call.

use std::collections::HashMap;
use std::sync::Arc;

use meshmap_images::Found;
use meshmap_job::{
    Budget, FactKind, ImageProblem, MOST_NAMES, Result, Search, Warning, Why, others_of,
};
use meshmap_scene::is_image;

use crate::settings::{Render, Rendered};
use crate::texture::{Texture, bytes_of_copies};

/// The images of a file by their names.
#[derive(Default)]
pub(crate) struct Images {
    known: HashMap<String, Option<Arc<Texture>>>,
}

impl Images {
    /// The image that a surface names, if there is one, and it can be used.
    ///
    /// The reason why an image is not drawn is reported once.
    pub(crate) fn of(
        &mut self,
        name: &str,
        render: &Render,
        budget: &Budget,
        rendered: &mut Rendered,
    ) -> Result<Option<Arc<Texture>>> {
        if let Some(known) = self.known.get(name) {
            return Ok(known.clone());
        }
        budget.keep(name.len() as u64 + 64, "names of images")?;
        let decoded = if self.known.len() < MOST_NAMES {
            look_for(name, render, budget, rendered)
        } else {
            Err(ImageProblem::TooManyNames)
        };
        let texture = match decoded {
            Ok(texture) => Some(Arc::new(texture)),
            Err(problem) => {
                // Most names of materials mean no image.
                if is_image(name) || problem.is_of_found() {
                    let report = &mut rendered.report;
                    report.leave_out(FactKind::Images, Why::Image(problem), name);
                }
                None
            }
        };
        self.known.insert(name.to_owned(), texture.clone());
        Ok(texture)
    }
}

fn look_for(
    name: &str,
    render: &Render,
    budget: &Budget,
    rendered: &mut Rendered,
) -> Result<Texture, ImageProblem> {
    let search = Search {
        library: &render.library,
        folder: render.folder.as_deref(),
        textures: &render.textures,
    };
    let found = search.find(name);
    let decoded = match &found {
        Ok(found) => {
            if let Some(line) = others_of(name, found) {
                rendered.report.warn_of(Warning::SeveralImages, line);
            }
            decoded(found, render, budget)
        }
        Err(problem) => Err(*problem),
    };
    let (found, is_used) = (found.as_ref().ok(), decoded.is_ok());
    rendered.textures.add(name, found, is_used, &search);
    decoded
}

fn decoded(found: &Found, render: &Render, budget: &Budget) -> Result<Texture, ImageProblem> {
    let needed = render.library.needed_bytes(found)?;
    let left = budget.left();
    if needed > left {
        return Err(ImageProblem::OverLimit);
    }
    let over_limit = |_| ImageProblem::OverLimit;
    let pixels = {
        let _scope = budget.scope();
        budget.charge(needed, "images").map_err(over_limit)?;
        render.library.pixels(found, needed)?
    };
    let alpha = render.library.alpha(found, needed)?;
    let copies = bytes_of_copies([pixels.width, pixels.height]);
    budget
        .keep(copies.saturating_add(pixels.bytes.len() as u64), "images")
        .map_err(over_limit)?;
    Ok(Texture::new(pixels, alpha))
}
