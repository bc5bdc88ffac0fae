//! Checks of pictures by their bytes: kind, size, metadata. Disease is never measured.
