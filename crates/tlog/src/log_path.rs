//! Paths below the prefix of a log at which its readers find tiles and entries (C2SP tlog-tiles).

use std::fmt;
use std::str::FromStr;

use crate::checkpoint::decimal;
use crate::tile::LEVELS;
use crate::{TILE_WIDTH, TileId};

/// A resource of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogPath {
    /// The newest signed checkpoint.
    Checkpoint,
    /// The first `width` hashes of a tile.
    Tile {
        /// The tile.
        tile: TileId,
        /// 1 to 256 hashes.
        width: usize,
    },
    /// The first `width` entries of those whose hashes are a tile of level 0.
    Entries {
        /// Index of the tile.
        index: u64,
        /// 1 to 256 entries.
        width: usize,
    },
}

/// The path is not that of a resource of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "the paths of a log are checkpoint, tile/<level>/<index> and tile/entries/<index>, the index in groups of three digits"
)]
pub struct LogPathError;

impl FromStr for LogPath {
    type Err = LogPathError;

    fn from_str(path: &str) -> Result<Self, LogPathError> {
        parse(path).ok_or(LogPathError)
    }
}

fn parse(path: &str) -> Option<LogPath> {
    if path == "checkpoint" {
        return Some(LogPath::Checkpoint);
    }
    let (level, rest) = path.strip_prefix("tile/")?.split_once('/')?;
    let (index, width) = match rest.split_once(".p/") {
        Some((index, width)) => {
            let width = usize::try_from(decimal(width)?).ok()?;
            (index, (1..TILE_WIDTH).contains(&width).then_some(width)?)
        }
        None => (rest, TILE_WIDTH),
    };
    let index = parse_index(index)?;
    if level == "entries" {
        return Some(LogPath::Entries { index, width });
    }
    let level = decimal(level).and_then(|level| u8::try_from(level).ok()).filter(|level| *level < LEVELS)?;
    Some(LogPath::Tile { tile: TileId { level, index }, width })
}

/// Reads an index such as `x001/x234/067`. Returns `None` where [`write_index`] would write it otherwise.
fn parse_index(text: &str) -> Option<u64> {
    let (first, last) = text.rsplit_once('/').map_or((None, text), |(first, last)| (Some(first), last));
    let mut index = group(last)?;
    let mut thousands = 1_u64;
    for text in first.into_iter().flat_map(|first| first.rsplit('/')) {
        let value = group(text.strip_prefix('x')?)?;
        thousands = thousands.checked_mul(1000)?;
        index = value.checked_mul(thousands).and_then(|value| index.checked_add(value))?;
    }
    let leading_zeros = first.is_some() && index / thousands == 0;
    (!leading_zeros).then_some(index)
}

fn group(digits: &str) -> Option<u64> {
    (digits.len() == 3 && digits.bytes().all(|digit| digit.is_ascii_digit())).then(|| digits.parse().ok()).flatten()
}

fn write_index(f: &mut fmt::Formatter<'_>, index: u64) -> fmt::Result {
    let mut groups = vec![index % 1000];
    let mut rest = index / 1000;
    while rest > 0 {
        groups.push(rest % 1000);
        rest /= 1000;
    }
    for (position, group) in groups.iter().enumerate().rev() {
        if position == 0 { write!(f, "{group:03}")? } else { write!(f, "x{group:03}/")? }
    }
    Ok(())
}

impl fmt::Display for LogPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = match self {
            Self::Checkpoint => return f.write_str("checkpoint"),
            Self::Tile { tile, width } => {
                write!(f, "tile/{}/", tile.level)?;
                write_index(f, tile.index)?;
                *width
            }
            Self::Entries { index, width } => {
                f.write_str("tile/entries/")?;
                write_index(f, *index)?;
                *width
            }
        };
        if width == TILE_WIDTH { Ok(()) } else { write!(f, ".p/{width}") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indexes_are_written_in_groups_of_three_digits() {
        // The example of C2SP tlog-tiles.
        let path = LogPath::Tile { tile: TileId { level: 0, index: 1_234_067 }, width: TILE_WIDTH };
        assert_eq!(path.to_string(), "tile/0/x001/x234/067");
        assert_eq!(path.to_string().parse(), Ok(path));
    }

    #[test]
    fn every_path_is_read_back() {
        for index in [0, 1, 999, 1000, 999_999, 1_000_000, u64::MAX / 1000, u64::MAX] {
            for width in [1, 255, 256] {
                for path in
                    [LogPath::Entries { index, width }, LogPath::Tile { tile: TileId { level: 7, index }, width }]
                {
                    assert_eq!(path.to_string().parse(), Ok(path));
                }
            }
        }
        assert_eq!("checkpoint".parse(), Ok(LogPath::Checkpoint));
    }

    #[test]
    fn no_second_spelling_of_a_path_is_read() {
        for path in [
            "",
            "tile",
            "tile/0",
            "tile/0/",
            "tile/0/1",
            "tile/0/0001",
            "tile/0/x000/001",
            "tile/0/001/002",
            "tile/0/x001",
            "tile/00/000",
            "tile/8/000",
            "tile/-1/000",
            "tile/+1/000",
            "tile/0/+01",
            "tile/0/000.p/0",
            "tile/0/000.p/256",
            "tile/0/000.p/01",
            "tile/0/000.p/",
            "tile/0/000.p/1/",
            "tile/0/X001/000",
            "tile/entries/0",
            "tile/data/000",
            "/checkpoint",
            "checkpoint/",
            "tile/0/x018/x446/x744/x073/x709/x551/616",
        ] {
            assert_eq!(path.parse::<LogPath>(), Err(LogPathError), "{path}");
        }
    }
}
