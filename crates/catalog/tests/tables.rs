//! Tables of many files.
#![cfg(feature = "parquet")]

use std::io::Cursor;

use arrow_array::cast::AsArray as _;
use arrow_array::types::Int32Type;
use arrow_schema::DataType;
use meshmap_catalog::Depth;
use meshmap_catalog::rows::{self, Columns, FileKind, Options, Row, Writer};
use meshmap_testing::data;

type Of = fn(&Row) -> Option<&'static str>;

#[test]
fn arrow_files_hold_all_rows_with_the_version_and_one_dictionary_of_each_column() {
    let items = rows::find(&[data::root()]);
    let how = Options {
        depth: Depth::Everything,
        ..Options::default()
    };
    let rows: Vec<Row> = items.iter().flat_map(|item| rows::of(item, &how)).collect();
    let mut writer = Writer::new(FileKind::Arrow, Vec::new()).unwrap();
    // Another dictionary in a later table would be an error.
    rows.chunks(100)
        .for_each(|rows| writer.write(rows).unwrap());
    let file = Cursor::new(writer.finish().unwrap());
    let reader = arrow_ipc::reader::FileReader::try_new(file, None).unwrap();
    let schema = reader.schema();
    assert_eq!(schema, Columns::all().schema());
    assert_eq!(schema.metadata()["meshmap.schema"], "1");
    let is_name = |name: &&str| {
        matches!(
            schema.field_with_name(name).unwrap().data_type(),
            DataType::Dictionary(..)
        )
    };
    let columns: [(&str, Of); 5] = [
        ("format", |row| row.format),
        ("role", |row| row.role),
        ("error_kind", |row| row.error_kind),
        ("rule", |row| row.rule),
        ("part_error_kind", |row| row.part_error_kind),
    ];
    assert!(columns.iter().map(|(name, _)| name).all(is_name));
    let mut rest = &rows[..];
    for batch in reader {
        let batch = batch.unwrap();
        let (own, later) = rest.split_at(batch.num_rows());
        rest = later;
        for (name, of) in columns {
            let column = batch
                .column_by_name(name)
                .unwrap()
                .as_dictionary::<Int32Type>();
            let texts = column.downcast_dict::<arrow_array::StringArray>().unwrap();
            assert!(texts.into_iter().eq(own.iter().map(of)), "{name}");
        }
    }
    assert!(rest.is_empty());
    for (name, of) in columns {
        assert!(
            rows.iter().any(|row| of(row).is_some()),
            "no row has a {name}"
        );
    }
}
