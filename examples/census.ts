// A census of the repository: how many files and lines there are of each kind, the largest source file, and
// how many places are marked as public. `glob`, `grep` and `read` run side by side where they can.
//
//   dsh code examples/census.ts

interface Kind {
  name: string;
  pattern: string;
}

const kinds: Kind[] = [
  { name: "Rust", pattern: "**/*.rs" },
  { name: "Markdown", pattern: "**/*.md" },
  { name: "TOML", pattern: "**/*.toml" },
];

// `glob` finds ignored files too; what builds and installers leave behind is not part of the repository.
const built = /(^|\/)(target|node_modules)\//;

const found = await Promise.all(
  kinds.map(async (kind) => {
    const { paths } = await tools.glob({ pattern: kind.pattern });
    return paths.filter((path) => !built.test(path));
  }),
);

// The first lines tell how long a file is, whatever its length.
async function lengthOf(path: string): Promise<number> {
  const file = await tools.read({ file_path: path, limit: 1 });
  return file.totalLines;
}

const rows: string[] = ["kind       files   lines  longest"];
for (const [index, kind] of kinds.entries()) {
  const paths = found[index];
  const lengths = await Promise.all(paths.map(lengthOf));
  const lines = lengths.reduce((sum, length) => sum + length, 0);
  let longest = "-";
  let most = -1;
  lengths.forEach((length, at) => {
    if (length > most) {
      most = length;
      longest = `${paths[at]} (${length})`;
    }
  });
  rows.push(
    [kind.name.padEnd(10), String(paths.length).padStart(5), String(lines).padStart(7), ` ${longest}`].join(" "),
  );
}

const markers = await tools.grep({ pattern: "^ *pub fn ", include: "*.rs" });
console.log(`looked at ${found.reduce((sum, one) => sum + one.length, 0)} files`);
return rows.concat(`public functions: ${markers.matches.length}`).join("\n");
