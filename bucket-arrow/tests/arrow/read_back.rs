//! Random records are in batches and files to the bit.

use std::io::Cursor;

use arrow_ipc::reader::FileReader;
use bucket_arrow::{Layout, arrow_array::RecordBatch};
use parquet::arrow::{ArrowWriter, arrow_reader::ParquetRecordBatchReaderBuilder};
use proptest::{collection::vec, prelude::*};

use super::{
    cell::{Cell, rows},
    everything::{Everything, everything, expected},
};

fn batches(records: &[Everything]) -> Vec<RecordBatch> {
    let layout = Layout::<Everything>::new().unwrap();
    let mut builder = layout.batch();
    // Two of them: a builder is empty after a batch.
    let (one, other) = records.split_at(records.len() / 3);
    let batch = |records: &[Everything]| {
        for record in records {
            builder.push(record).unwrap();
        }
        builder.finish().unwrap()
    };
    [one, other].map(batch).into()
}

fn all_expected(records: &[Everything]) -> Vec<Cell> {
    records.iter().map(expected).collect()
}

/// The first difference, which is shorter than two rows.
fn assert_same(found: &[Cell], wanted: &[Cell]) {
    assert_eq!(found.len(), wanted.len());
    for pair in found.iter().zip(wanted) {
        let (Cell::Struct(found), Cell::Struct(wanted)) = pair else {
            panic!("{pair:?}");
        };
        for (found, wanted) in found.iter().zip(wanted) {
            assert_eq!(found, wanted);
        }
        assert_eq!(found.len(), wanted.len());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_records_are_in_their_batches_to_the_bit(records in vec(everything(), 0..24)) {
        assert_same(&rows(&batches(&records)), &all_expected(&records));
    }

    #[test]
    fn random_records_are_in_parquet_and_ipc_files_to_the_bit(records in vec(everything(), 1..12)) {
        let batches = batches(&records);
        let schema = batches[0].schema();

        let mut ipc = arrow_ipc::writer::FileWriter::try_new(Vec::new(), &schema).unwrap();
        let mut parquet = ArrowWriter::try_new(Vec::new(), schema, None).unwrap();
        for batch in &batches {
            ipc.write(batch).unwrap();
            parquet.write(batch).unwrap();
        }
        let ipc = FileReader::try_new(Cursor::new(ipc.into_inner().unwrap()), None).unwrap();
        let read: Vec<RecordBatch> = ipc.map(Result::unwrap).collect();
        assert_same(&rows(&read), &all_expected(&records));

        let parquet = bytes::Bytes::from(parquet.into_inner().unwrap());
        let parquet = ParquetRecordBatchReaderBuilder::try_new(parquet).unwrap().build().unwrap();
        let read: Vec<RecordBatch> = parquet.map(Result::unwrap).collect();
        assert_same(&rows(&read), &all_expected(&records));
    }
}
