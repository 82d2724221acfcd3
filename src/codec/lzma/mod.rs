//! LZMA1 streams as OpenCTM stores them: without a header, of a length that is known beforehand.
//!
//! A stream is decoded from one slice into another, and what has come out is the dictionary: nothing is copied twice,
//! and the only memory is the table of probabilities. Written after the description of the format in the LZMA
//! specification (`lzma-specification.txt` of the LZMA SDK), whose words are used here.
//!
//! The decoder accepts what libopenctm accepts, which calls the LZMA SDK: any of the 225 combinations of lc, lp and pb;
//! any distance that does not reach before the first byte, whatever the size of the dictionary; a match that goes on
//! after the end, which is cut; anything after the stream, including end markers. Not accepted are a stream whose first byte
//! is not 0, one that ends before the output is full, and one that lacks a byte, be it the very last that the range
//! coder takes up when everything has come out.

mod coder;
mod decoder;
mod end;
mod model;
mod reference;
mod stream;

pub(crate) use decoder::{Lzma, check_length};
pub(crate) use end::End;
