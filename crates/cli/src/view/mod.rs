//! The page of `meshmap view`, and its server.

mod page;
mod request;
mod server;

pub(crate) use page::is_there;
pub(crate) use server::{Content, End, Served, Server};
