//! Tables of many files.
#![cfg(feature = "parquet")]

use std::io::Cursor;

use meshmap_catalog::rows::{self, Columns, FileKind, Options, Row, Writer};
use meshmap_testing::data;

#[test]
fn arrow_files_hold_all_rows() {
    let items = rows::find(&[data::root()]);
    let rows: Vec<Row> = items.iter().flat_map(|item| rows::of(item, &Options::default())).collect();
    let mut writer = Writer::new(FileKind::Arrow, Vec::new()).unwrap();
    rows.chunks(100).for_each(|rows| writer.write(rows).unwrap());
    let file = Cursor::new(writer.finish().unwrap());
    let reader = arrow_ipc::reader::FileReader::try_new(file, None).unwrap();
    assert_eq!(reader.schema(), Columns::all().schema());
    assert_eq!(reader.map(|batch| batch.unwrap().num_rows()).sum::<usize>(), rows.len());
}
