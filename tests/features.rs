//! Additions of the optional features to types of the library.

#[cfg(feature = "serde")]
mod serde {
    use std::fmt::Debug;

    use meshmap::slmesh::Lod;
    use meshmap::{
        Address, Bounds, Decoder, Format, Limits, MeshFile, Options, Role, Semantic, Severity,
        Strictness, VertexFormat,
    };
    use meshmap_testing::data;
    use serde::Serialize;
    use serde::de::DeserializeOwned;
    use serde_json::{Value, from_value, json, to_value};

    fn there_and_back<T: Serialize + DeserializeOwned + PartialEq + Debug>(value: T, json: Value) {
        assert_eq!(to_value(&value).unwrap(), json);
        assert_eq!(from_value::<T>(json).unwrap(), value);
    }

    #[test]
    fn values_of_a_scene_are_read_as_they_were_written() {
        there_and_back(
            Address::field("meshes").name("a\"b").then("x").index(3),
            json!("meshes[\"a\\\"b\"].x[3]"),
        );
        for format in Format::ALL {
            there_and_back(format, json!(format.name()));
            there_and_back(
                format.conventions(),
                to_value(format.conventions()).unwrap(),
            );
        }
        there_and_back(Semantic::TexCoord(2), json!("texcoord[2]"));
        there_and_back(Semantic::Custom("normal".to_owned()), json!("\"normal\""));
        there_and_back(Lod::Lowest, json!("lowest_lod"));
        let format = json!({"scalar": "u8", "components": 4, "normalized": true});
        there_and_back(VertexFormat::UNORM8X4, format);
        let packed = json!({"scalar": "u32", "components": 4, "normalized": true, "packed": true});
        there_and_back(VertexFormat::UNORM10_10_10_2, packed);
        there_and_back(Role::Geometry, json!("geometry"));
        let snapshot = Role::Snapshot {
            index: 7,
            seconds: Some(0.5),
        };
        there_and_back(snapshot, json!({"snapshot": {"index": 7, "seconds": 0.5}}));
        let bounds = Bounds::new([0.0, 1.0, 2.0], [3.0, 4.0, 5.0]);
        there_and_back(
            bounds,
            json!({"min": [0.0, 1.0, 2.0], "max": [3.0, 4.0, 5.0]}),
        );
        there_and_back(Severity::Suspicious, json!("suspicious"));
        assert!(
            from_value::<Address>(json!("a["))
                .unwrap_err()
                .to_string()
                .contains("not an address")
        );
        assert!(
            from_value::<Format>(json!("glb"))
                .unwrap_err()
                .to_string()
                .contains("one of `cgeo`")
        );
    }

    #[test]
    fn settings_need_only_what_differs_from_the_default() {
        let settings =
            json!({"limits": {"free_ratio": 0}, "strictness": "strict", "decoder": "reference"});
        let options = Options::default()
            .with_limits(Limits::default().with_free_ratio(0))
            .with_strictness(Strictness::Strict)
            .with_decoder(Decoder::Reference);
        assert_eq!(from_value::<Options>(settings).unwrap(), options);
        there_and_back(options, to_value(options).unwrap());
        assert!(from_value::<Limits>(json!({"max_total": 1})).is_err());
    }

    #[test]
    fn findings_and_items_are_written_for_reports() {
        let file = MeshFile::open(data::valid("slmesh", "ours_twice_a.slmesh")).unwrap();
        for finding in file.findings() {
            let json = to_value(finding).unwrap();
            assert_eq!(json["rule"]["name"], finding.rule.name);
            assert_eq!(json["rule"]["severity"], finding.severity().name());
            assert_eq!(json["detail"], finding.detail);
        }
        assert!(!file.findings().is_empty());
        let header = to_value(file.items().next().unwrap()).unwrap();
        assert!(
            header["address"] == "header" && header["counts"]["keys"].is_u64(),
            "{header}"
        );
        assert_eq!(header["range"]["start"], 0);
    }
}

#[cfg(feature = "bytemuck")]
mod bytemuck {
    use bytemuck::{Zeroable, bytes_of, cast_slice};
    use meshmap::iqm::Trs;
    use meshmap::{Bounds, F16};

    #[test]
    fn what_a_gpu_takes_is_cast_to_its_bytes() {
        assert_eq!(cast_slice::<F16, u16>(&[F16(0x3c00), F16(1)]), [0x3c00, 1]);
        let boxes = [Bounds::new([1.0, 2.0, 3.0], [4.0, 5.0, 6.0])];
        assert_eq!(
            cast_slice::<Bounds, f32>(&boxes),
            [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
        );
        assert_eq!(bytes_of(&Trs::default()).len(), 40);
        assert_eq!(Trs::zeroed().scale, [0.0; 3]);
    }
}

mod mint {
    use meshmap::iqm::{Trs, to_columns};
    use mint::{ColumnMatrix4, Quaternion, RowMatrix3x4, RowMatrix4, Vector3};

    #[test]
    fn transformations_are_those_of_other_libraries() {
        let half = 0.5_f32.sqrt();
        let trs = Trs::new([1.0, 2.0, 3.0], [0.0, 0.0, half, half], [2.0, 3.0, 4.0]);
        let (translate, scale) = (Vector3::from(trs.translate), Vector3::from(trs.scale));
        let rotate = Quaternion::from(trs.rotate);
        assert_eq!(
            (translate.x, rotate.v.z, rotate.s, scale.y),
            (1.0, half, half, 3.0)
        );
        assert_eq!(Trs::new(translate.into(), rotate.into(), scale.into()), trs);

        // Rows of the one are columns of the other, with a last row of 0, 0, 0, 1.
        let matrix = trs.to_matrix();
        let rows = RowMatrix3x4::from(matrix);
        assert_eq!([rows.x, rows.y, rows.z].map(<[f32; 4]>::from), matrix);
        let columns = ColumnMatrix4::from(to_columns(&matrix));
        let four: [[f32; 4]; 4] = RowMatrix4::from(columns).into();
        assert_eq!(
            (four[..3].to_vec(), four[3]),
            (matrix.to_vec(), [0.0, 0.0, 0.0, 1.0])
        );
        assert_eq!(<[f32; 4]>::from(columns.w), [1.0, 2.0, 3.0, 1.0]);
    }

    #[test]
    fn positions_are_vectors() {
        let file = meshmap::MeshFile::open("tests/data/iqm/valid/skin_multi_anim.iqm").unwrap();
        let mesh = file.mesh(&"meshes[0]".parse().unwrap()).unwrap();
        let positions = mesh
            .attribute(&meshmap::Semantic::Position)
            .unwrap()
            .unwrap();
        let vectors: Vec<Vector3<f32>> = positions.iter_f32().map(Vector3::from).collect();
        assert_eq!(
            vectors
                .iter()
                .map(|vector| [vector.x, vector.y, vector.z])
                .collect::<Vec<_>>(),
            positions.to_f32()
        );
    }
}
