//! The page of `meshmap view`, and its server.
//!
//! `crates/web/build` compresses the demonstration into `crates/cli/page`, which git ignores and the published package contains,
//! and `build.rs` of `crates/cli` lists its files for the feature `view`. MESHMAP_PAGE names another folder, such as the archive of
//! a release. Without a folder the list is empty, and the command reports this. `view/server.rs` listens at a free port of
//! 127.0.0.1, with one thread per connection, and serves the page and the files of a list by their numbers, never by a path
//! (`view/files.rs`). Images that a file names have numbers as well: the server looks for them as `convert` and `render` do, and makes a PNG
//! of an image that browsers do not read. A file is opened for each request, along a path without links.
//! `view/request.rs` parses requests within limits. The URL of the page contains a token of 128 random bits, which every request needs.
//! Other users can read command lines, so the browser does not get the URL: it opens a file that only this user can read, which leads
//! to the URL, and which is removed when the page is asked for. Requests from other sites are refused by the headers `Host` and
//! `Origin`. Each tab holds a stream of events open, and the command ends two seconds after the last tab has closed.

mod files;
mod page;
mod request;
mod server;

pub(crate) use files::{Content, Files, Served};
pub(crate) use page::is_there;
pub(crate) use server::{End, Server};
