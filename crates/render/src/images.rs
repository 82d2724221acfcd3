//! The images of the surfaces of a file, each looked for and decoded once a call.

use std::collections::HashMap;
use std::sync::Arc;

use meshmap_images::Found;
use meshmap_job::{
    Budget, ImageProblem, MOST_NAMES, Result, Search, decode_within, keep_image, report_missing,
};

use crate::settings::{Mode, Render, Rendered};
use crate::texture::{Texture, bytes_of_copies};

/// The images of a file by their names.
pub(crate) struct Images {
    are_drawn: bool,
    known: HashMap<String, Option<Arc<Texture>>>,
}

impl Images {
    /// The images of a picture: surfaces of one colour have none.
    pub(crate) fn of_mode(mode: Mode) -> Self {
        Self {
            are_drawn: mode == Mode::Shaded,
            known: HashMap::new(),
        }
    }

    /// None, for surfaces that show something else.
    pub(crate) fn none() -> Self {
        Self {
            are_drawn: false,
            known: HashMap::new(),
        }
    }

    /// `true` if surfaces show the images that they name.
    pub(crate) fn are_drawn(&self) -> bool {
        self.are_drawn
    }

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
                report_missing(name, problem, &mut rendered.report);
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
    let found = search.find_and_warn(name, &mut rendered.report);
    let decoded = match &found {
        Ok(found) => decoded(found, render, budget),
        Err(problem) => Err(*problem),
    };
    let found = found.as_ref().ok();
    let is_used = decoded.is_ok();
    rendered.textures.add(name, found, is_used, &search);
    decoded
}

fn decoded(found: &Found, render: &Render, budget: &Budget) -> Result<Texture, ImageProblem> {
    let library = &render.library;
    let needed = library.needed_bytes(found)?;
    let pixels = decode_within(budget, needed, |most| library.pixels(found, most))?;
    let alpha = library.alpha(found, needed)?;
    let copies = bytes_of_copies([pixels.width, pixels.height]);
    keep_image(budget, copies.saturating_add(pixels.bytes.len() as u64))?;
    Ok(Texture::new(pixels, alpha))
}
