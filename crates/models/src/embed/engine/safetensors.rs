//! Reader of safetensors files: eight bytes with the header's length, a JSON header, then the numbers. Source: the
//! format's description at github.com/huggingface/safetensors.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use serde::Deserialize;
use serde_json::{Map, Value};

/// Upper bound of the header's length in bytes; files with thousands of tensors stay below it.
const MAX_HEADER: u64 = 1 << 20;
/// Bytes per number.
const WIDTH: usize = size_of::<f32>();

#[derive(Debug, Deserialize)]
struct Tensor {
    dtype: String,
    shape: Vec<usize>,
    /// Offsets of the first byte and one past the last, from the end of the header.
    data_offsets: [u64; 2],
}

/// An open file.
#[derive(Debug)]
pub(super) struct SafeTensors {
    file: File,
    tensors: Map<String, Value>,
    data: u64,
}

impl SafeTensors {
    pub(super) fn open(path: &Path) -> Result<Self, String> {
        let mut file = File::open(path).map_err(|error| error.to_string())?;
        let mut length = [0; 8];
        file.read_exact(&mut length).map_err(|error| format!("no header: {error}"))?;
        let length = u64::from_le_bytes(length);
        if length > MAX_HEADER {
            return Err(format!("a header of {length} bytes"));
        }
        let mut header = Vec::new();
        (&mut file).take(length).read_to_end(&mut header).map_err(|error| error.to_string())?;
        let tensors = serde_json::from_slice(&header).map_err(|error| format!("header: {error}"))?;
        Ok(Self { file, tensors, data: 8 + length })
    }

    /// Reads a tensor; its last dimension varies fastest.
    pub(super) fn read(&mut self, name: &str, shape: &[usize]) -> Result<Vec<f32>, String> {
        let header = self.tensors.get(name).ok_or_else(|| format!("there is no tensor {name}"))?;
        let tensor = Tensor::deserialize(header).map_err(|error| format!("tensor {name}: {error}"))?;
        let [from, to] = tensor.data_offsets;
        let bytes = shape.iter().product::<usize>() * WIDTH;
        if tensor.dtype != "F32" || tensor.shape != shape || to.checked_sub(from) != u64::try_from(bytes).ok() {
            return Err(format!("tensor {name} is {} {:?}, not F32 {shape:?}", tensor.dtype, tensor.shape));
        }
        let mut raw = vec![0; bytes];
        let at = SeekFrom::Start(self.data.saturating_add(from));
        self.file
            .seek(at)
            .and_then(|_| self.file.read_exact(&mut raw))
            .map_err(|error| format!("tensor {name}: {error}"))?;
        let (numbers, _) = raw.as_chunks::<WIDTH>();
        Ok(numbers.iter().map(|number| f32::from_le_bytes(*number)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(header: &str, data: &[u8]) -> Result<SafeTensors, String> {
        let file = tempfile::NamedTempFile::new().unwrap();
        let length = u64::try_from(header.len()).unwrap().to_le_bytes();
        std::fs::write(file.path(), [&length, header.as_bytes(), data].concat()).unwrap();
        SafeTensors::open(file.path())
    }

    const HEADER: &str = r#"{"__metadata__":{"format":"pt"},
        "a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},
        "b":{"dtype":"F32","shape":[1,1],"data_offsets":[8,12]},
        "c":{"dtype":"I64","shape":[1],"data_offsets":[0,8]},
        "d":{"dtype":"F32","shape":[9],"data_offsets":[0,36]}}"#;

    #[test]
    fn tensors_are_read_by_name() {
        // IEEE 754: 1.0, -2.0, 0.5.
        let mut file = open(HEADER, &[0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0, 0, 0, 0, 0x3f]).unwrap();
        assert_eq!(file.read("b", &[1, 1]).unwrap(), [0.5]);
        assert_eq!(file.read("a", &[2]).unwrap(), [1.0, -2.0]);
        for (name, shape, part) in
            [("a", [3], "not F32 [3]"), ("c", [1], "I64"), ("e", [1], "no tensor e"), ("d", [9], "tensor d")]
        {
            assert!(file.read(name, &shape).unwrap_err().contains(part), "{name}");
        }
    }

    #[test]
    fn other_files_are_rejected() {
        assert!(open("{", &[]).is_err());
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), [0xff; 16]).unwrap();
        assert!(SafeTensors::open(file.path()).unwrap_err().contains("header of"));
    }
}
