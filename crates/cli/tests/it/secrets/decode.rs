//! Searches outputs for words, however they are packed and escaped.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use memchr::memmem;
use std::io::Read as _;

/// Returns a file, and all that can be unpacked from it.
fn unpacked(file: &[u8]) -> Vec<Vec<u8>> {
    let (mut all, mut next) = (Vec::new(), vec![file.to_vec()]);
    while let Some(bytes) = next.pop() {
        next.extend(inner(&bytes));
        all.push(bytes);
    }
    all
}

fn inner(bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    if bytes.starts_with(b"PK\x03\x04") {
        let mut archive = zip::ZipArchive::new(std::io::Cursor::new(bytes)).expect("a ZIP file");
        for at in 0..archive.len() {
            let mut file = archive.by_index(at).expect("a file in it");
            let mut inner = file.name().expect("a name").as_bytes().to_vec();
            file.read_to_end(&mut inner).expect("it is readable");
            found.push(inner);
        }
        return found;
    }
    if bytes.starts_with(b"PAR1") {
        return vec![parquet_text(bytes)];
    }
    found.extend(
        memmem::find_iter(bytes, b"\x28\xb5\x2f\xfd").filter_map(|at| zstd::stream::decode_all(&bytes[at..]).ok()),
    );
    for at in memmem::find_iter(bytes, b"\x1f\x8b\x08") {
        let mut plain = Vec::new();
        if flate2::read::GzDecoder::new(&bytes[at..]).read_to_end(&mut plain).is_ok() {
            found.push(plain);
        }
    }
    let is_base64 = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/".contains(byte);
    let runs = bytes.split(|byte| !is_base64(byte)).filter(|run| run.len() >= 40);
    for run in runs {
        found.extend(STANDARD_NO_PAD.decode(run).or_else(|_| STANDARD_NO_PAD.decode(&run[..run.len() / 4 * 4])).ok());
    }
    found
}

/// The values of a Parquet file.
fn parquet_text(bytes: &[u8]) -> Vec<u8> {
    let reader =
        parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder::try_new(bytes::Bytes::copy_from_slice(bytes));
    let mut text = Vec::new();
    for batch in reader.and_then(|reader| reader.build()).expect("a Parquet file") {
        text.extend_from_slice(format!("{:?}\n", batch.expect("rows")).as_bytes());
    }
    text
}

/// Returns what was unpacked in lower case, to search it.
pub fn searchable(file: &[u8]) -> Vec<Vec<u8>> {
    unpacked(file).into_iter().map(|part| part.to_ascii_lowercase()).collect()
}

/// Whether a file that was unpacked has a word: in UTF-8 or UTF-16, in base64, or with each character escaped as in addresses, JSON and HTML.
pub fn has(parts: &[Vec<u8>], word: &str) -> bool {
    let forms = forms(word);
    parts.iter().any(|bytes| forms.iter().any(|form| memmem::find(bytes, &form.to_ascii_lowercase()).is_some()))
}

fn forms(word: &str) -> Vec<Vec<u8>> {
    let each = |form: &dyn Fn(u8) -> String| word.bytes().map(form).collect::<String>().into_bytes();
    let mut forms = vec![
        word.as_bytes().to_vec(),
        word.encode_utf16().flat_map(u16::to_le_bytes).collect(),
        word.encode_utf16().flat_map(u16::to_be_bytes).collect(),
        each(&|byte| format!("%{byte:02x}")),
        each(&|byte| format!("\\u{byte:04x}")),
        each(&|byte| format!("&#x{byte:x};")),
        each(&|byte| format!("&#{byte};")),
    ];
    // Wherever it begins among the bytes; without the characters that depend on what is around it.
    for before in 0..3 {
        let text = STANDARD_NO_PAD.encode([vec![0; before], word.as_bytes().to_vec()].concat());
        let from = [0, 2, 3][before];
        forms.push(text.as_bytes()[from..text.len() - 1].to_vec());
    }
    forms
}

#[test]
fn words_are_found_however_they_are_packed() {
    use std::io::Write as _;
    let word = "Zqsecret";
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(format!("some text, then {word} and more of it, so that it is long enough").as_bytes()).unwrap();
    let gzip = gzip.finish().unwrap();
    let utf16: Vec<u8> = format!("a {word}").encode_utf16().flat_map(u16::to_le_bytes).collect();
    let mut all = vec![
        gzip.clone(),
        zstd::stream::encode_all(format!("{{\"a\": \"{word}\"}}").as_bytes(), 1).unwrap(),
        format!("<script>{}</script>", STANDARD_NO_PAD.encode(&gzip)).into_bytes(),
        utf16,
        b"%5a%71%73%65%63%72%65%74".to_vec(),
        b"\\u005A\\u0071\\u0073\\u0065\\u0063\\u0072\\u0065\\u0074".to_vec(),
        b"zqSECRET".to_vec(),
    ];
    all.extend(
        (0..3)
            .map(|before| STANDARD_NO_PAD.encode([" ".repeat(before), word.into(), "/x".into()].concat()).into_bytes()),
    );
    for file in &all {
        assert!(has(&searchable(file), word), "{}", String::from_utf8_lossy(file));
    }
    assert!(!has(&searchable(b"Zqsecre t"), word));
}
