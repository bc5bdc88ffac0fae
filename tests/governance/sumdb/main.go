// Verifies what a log of crates/tlog or of a running server says, with the packages of Go's checksum database
// (golang.org/x/mod/sumdb/note and tlog), which share no code with it.
//
//	verify FOLDER
//
// The folder has `vkey`; `checkpoint`; `export.ndjson`; and where they are to be verified, `earlier` (a checkpoint of fewer
// entries), tiles below `tile/`, and `proofs.ndjson` with `{"index", "size", "path"}` or `{"from", "to", "path"}` a line.
//
//	write SEED NAME ENTRIES FOLDER
//
// writes `vkey` and `export.ndjson` of a log of its own, for the verifiers of this repository.
package main

import (
	"bufio"
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

type row struct {
	Seq        *int64
	Leaf       string
	Checkpoint string
}

type proof struct {
	Index *int64
	Size  int64
	From  *int64
	To    int64
	Path  []string
}

// hashes are the stored hashes of a tree that is built here, from the entries alone.
type hashes []tlog.Hash

func (stored hashes) ReadHashes(indexes []int64) ([]tlog.Hash, error) {
	found := make([]tlog.Hash, 0, len(indexes))
	for _, index := range indexes {
		if index >= int64(len(stored)) {
			return nil, fmt.Errorf("no hash %d", index)
		}
		found = append(found, stored[index])
	}
	return found, nil
}

// files are the tiles of the log, as C2SP tlog-tiles names them.
type files struct {
	folder string
	read   int
}

func (tiles *files) Height() int { return 8 }

func (tiles *files) ReadTiles(wanted []tlog.Tile) ([][]byte, error) {
	var found [][]byte
	for _, tile := range wanted {
		// Go's path has the height after `tile/`, which C2SP leaves out: it is always 8.
		path := "tile/" + strings.TrimPrefix(tile.Path(), "tile/8/")
		data, err := os.ReadFile(filepath.Join(tiles.folder, path))
		if err != nil {
			return nil, err
		}
		found = append(found, data)
		tiles.read++
	}
	return found, nil
}

func (tiles *files) SaveTiles([]tlog.Tile, [][]byte) {}

func main() {
	var err error
	switch {
	case len(os.Args) == 3 && os.Args[1] == "verify":
		err = verify(os.Args[2])
	case len(os.Args) == 6 && os.Args[1] == "write":
		err = write(os.Args[2], os.Args[3], os.Args[4], os.Args[5])
	default:
		err = fmt.Errorf("usage: verify FOLDER | write SEED NAME ENTRIES FOLDER")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func verify(folder string) error {
	vkey, err := os.ReadFile(filepath.Join(folder, "vkey"))
	if err != nil {
		return err
	}
	verifier, err := note.NewVerifier(strings.TrimSpace(string(vkey)))
	if err != nil {
		return fmt.Errorf("vkey: %w", err)
	}
	stored, size, last, err := readExport(filepath.Join(folder, "export.ndjson"))
	if err != nil {
		return err
	}
	notes := map[string]string{"the export's last line": last}
	for _, name := range []string{"checkpoint", "earlier"} {
		if text, err := os.ReadFile(filepath.Join(folder, name)); err == nil {
			notes[name] = string(text)
		}
	}
	var newest tlog.Tree
	for name, text := range notes {
		tree, err := open(text, verifier)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		root, err := tlog.TreeHash(tree.N, stored)
		if tree.N == 0 {
			// RFC 6962: the hash of nothing. This version of the package has zeros.
			root = sha256.Sum256(nil)
		}
		if err != nil || root != tree.Hash {
			return fmt.Errorf("%s: another root over %d entries: %v", name, tree.N, err)
		}
		if tree.N > newest.N {
			newest = tree
		}
	}
	tiles, err := verifyTiles(folder, newest, stored)
	if err != nil {
		return err
	}
	proofs, err := verifyProofs(filepath.Join(folder, "proofs.ndjson"), stored, size)
	if err != nil {
		return err
	}
	fmt.Printf("{\"entries\": %d, \"notes\": %d, \"tiles\": %d, \"proofs\": %d}\n", size, len(notes), tiles, proofs)
	return nil
}

// readExport builds the tree over the entries of an export. It returns the note in the last line.
func readExport(path string) (stored hashes, size int64, last string, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, 0, "", err
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 4<<20)
	for lines.Scan() {
		var entry row
		if err := json.Unmarshal(lines.Bytes(), &entry); err != nil {
			return nil, 0, "", err
		}
		if entry.Seq == nil {
			last = entry.Checkpoint
			continue
		}
		if *entry.Seq != size {
			return nil, 0, "", fmt.Errorf("entry %d is missing", size)
		}
		more, err := tlog.StoredHashes(size, []byte(entry.Leaf), stored)
		if err != nil {
			return nil, 0, "", err
		}
		stored = append(stored, more...)
		size++
	}
	return stored, size, last, lines.Err()
}

// open verifies a note and reads its checkpoint: the lines origin, size and root.
func open(text string, verifier note.Verifier) (tlog.Tree, error) {
	signed, err := note.Open([]byte(text), note.VerifierList(verifier))
	if err != nil {
		return tlog.Tree{}, err
	}
	lines := strings.Split(signed.Text, "\n")
	if len(lines) < 4 || lines[0] != verifier.Name() {
		return tlog.Tree{}, fmt.Errorf("no checkpoint of %s: %q", verifier.Name(), signed.Text)
	}
	size, err := strconv.ParseInt(lines[1], 10, 64)
	if err != nil {
		return tlog.Tree{}, err
	}
	root, err := tlog.ParseHash(lines[2])
	return tlog.Tree{N: size, Hash: root}, err
}

// verifyTiles reads every leaf hash through the tiles, which Go authenticates against the root.
func verifyTiles(folder string, tree tlog.Tree, stored hashes) (int, error) {
	if _, err := os.Stat(filepath.Join(folder, "tile")); err != nil || tree.N == 0 {
		return 0, nil
	}
	tiles := &files{folder: folder}
	reader := tlog.TileHashReader(tree, tiles)
	for n := int64(0); n < tree.N; n++ {
		index := tlog.StoredHashIndex(0, n)
		found, err := reader.ReadHashes([]int64{index})
		if err != nil {
			return 0, fmt.Errorf("tiles: %w", err)
		}
		if found[0] != stored[index] {
			return 0, fmt.Errorf("tiles: another hash of entry %d", n)
		}
	}
	return tiles.read, nil
}

func verifyProofs(path string, stored hashes, size int64) (int, error) {
	file, err := os.Open(path)
	if os.IsNotExist(err) {
		return 0, nil
	} else if err != nil {
		return 0, err
	}
	defer file.Close()
	lines, count := bufio.NewScanner(file), 0
	lines.Buffer(nil, 1<<20)
	for ; lines.Scan(); count++ {
		var given proof
		decoder := json.NewDecoder(bytes.NewReader(lines.Bytes()))
		if err := decoder.Decode(&given); err != nil {
			return 0, err
		}
		if err := verifyProof(given, stored); err != nil {
			return 0, fmt.Errorf("%s: %w", lines.Text(), err)
		}
	}
	return count, lines.Err()
}

func verifyProof(given proof, stored hashes) error {
	var path []tlog.Hash
	for _, text := range given.Path {
		hash, err := tlog.ParseHash(text)
		if err != nil {
			return err
		}
		path = append(path, hash)
	}
	if given.Index != nil {
		root, err := tlog.TreeHash(given.Size, stored)
		if err != nil {
			return err
		}
		leaf := stored[tlog.StoredHashIndex(0, *given.Index)]
		return tlog.CheckRecord(path, given.Size, root, *given.Index, leaf)
	}
	if given.From == nil {
		return fmt.Errorf("neither a proof of inclusion nor one of consistency")
	}
	// Go has no consistency proof from the empty tree, which every tree extends.
	if *given.From == 0 {
		if len(path) != 0 {
			return fmt.Errorf("a proof from the empty tree has no hashes")
		}
		return nil
	}
	older, err := tlog.TreeHash(*given.From, stored)
	if err != nil {
		return err
	}
	newer, err := tlog.TreeHash(given.To, stored)
	if err != nil {
		return err
	}
	return tlog.CheckTree(path, given.To, newer, *given.From, older)
}

// write makes a log: its entries are those that the contract describes, its hashes and its signature are Go's.
func write(seed, name, entries, folder string) error {
	private, err := hex.DecodeString(seed)
	if err != nil || len(private) != ed25519.SeedSize {
		return fmt.Errorf("a seed is 64 hexadecimal digits")
	}
	count, err := strconv.Atoi(entries)
	if err != nil {
		return err
	}
	key := ed25519.NewKeyFromSeed(private)
	public := append([]byte{1}, key.Public().(ed25519.PublicKey)...)
	id := sha256.Sum256(append([]byte(name+"\n"), public...))
	number := binary.BigEndian.Uint32(id[:])
	skey := fmt.Sprintf("PRIVATE+KEY+%s+%08x+%s", name, number, base64.StdEncoding.EncodeToString(append([]byte{1}, private...)))
	signer, err := note.NewSigner(skey)
	if err != nil {
		return err
	}
	vkey := fmt.Sprintf("%s+%08x+%s", name, number, base64.StdEncoding.EncodeToString(public))
	var stored hashes
	var export bytes.Buffer
	for n := 0; n < count; n++ {
		leaf := fmt.Sprintf(`{"action":"key.grant","actor":"usr_%d","at":"2026-11-26T02:00:00Z","id":"aud_%026d","outcome":"ok","resource":"key-%d","v":2}`, n%7, n, n)
		more, err := tlog.StoredHashes(int64(n), []byte(leaf), stored)
		if err != nil {
			return err
		}
		stored = append(stored, more...)
		text, _ := json.Marshal(leaf)
		fmt.Fprintf(&export, "{\"seq\":%d,\"entry\":%s,\"leaf\":%s,\"salt\":null,\"details\":null}\n", n, leaf, text)
	}
	root, err := tlog.TreeHash(int64(count), stored)
	if err != nil {
		return err
	}
	checkpoint, err := note.Sign(&note.Note{Text: fmt.Sprintf("%s\n%d\n%s\n", name, count, root)}, signer)
	if err != nil {
		return err
	}
	text, _ := json.Marshal(string(checkpoint))
	fmt.Fprintf(&export, "{\"checkpoint\":%s}\n", text)
	if err := os.WriteFile(filepath.Join(folder, "vkey"), []byte(vkey), 0o600); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, "export.ndjson"), export.Bytes(), 0o600)
}
