// Records what the oracles answer for every program of `../programs.md` and for the combinations
// generated below, in `../corpus.jsonl`. See README.md.

import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const require = createRequire(join(process.env.STRIP_ORACLES ?? process.cwd(), "index.js"));
const typescript = require("typescript");
const amaro = require("amaro");
const { default: tsBlankSpace } = await import(require.resolve("ts-blank-space"));

/** The programs of the Markdown file: heading, fence, and perhaps an expected error. */
function writtenPrograms() {
  const text = readFileSync(join(here, "../programs.md"), "utf8");
  return text.split(/^## /m).slice(1).map(section => {
    const [, id, source, error] = /^(\S+)\n```ts\n([^]*?)```\n(?:error: (.*)\n)?/.exec(section);
    return { id, source: source.replace(/\n$/, ""), error };
  });
}

/** Statements, members and operators next to each other in every order. */
function generatedPrograms() {
  const programs = [];
  const add = (id, source) => {
    // A combination TypeScript itself cannot parse says nothing about stripping.
    const file = typescript.createSourceFile("p.ts", source, typescript.ScriptTarget.ESNext);
    if (file.parseDiagnostics.length === 0) programs.push({ id, source });
  };

  // Characters a Markdown file would not keep.
  add("lines/crlf", "let a: {\r\n  x: number\r\n} = { x: 1 }\r\ntype T = 1\r\nreturn a as {\r\n x: 1 }\r\n");
  add("lines/separators", "let a: {\u2028  x: number,\u2029 y: \"é\" } = { x: 1, y: \"é\" }\u2028type T = 1\u2029return a");
  add("lines/arrow-separator", "const f = (x: number): {\u2028 x: 1 } => x as any\u2028;(0);\u2029return f(1)");
  add("lines/spaces", "let\u00a0a\ufeff:\u3000number\u2003=\u00a01\u000b;return\fa");

  const before = ["let a = f", "let a = f as any", "let a = o!.f!", "let a = f<number>", "let a = f satisfies any",
    "let a = (x: number): number => x", "let a: any", "f as any"];
  const erased = ["", "type T = 1", "interface I { x: 1 }", "declare const z: number"];
  const after = ["(log(1))", "[0].forEach(log)", "`t`", "+1", "-i", "/x/.test(\"x\")", "++i", "!0", "async () => {}",
    "abstract class Q {}", "let w: any = <T,>(x: T) => x"];
  for (const [b, first] of before.entries()) for (const [e, middle] of erased.entries()) for (const [n, last] of after.entries()) {
    const lines = [first, ...(middle ? [middle] : []), last];
    add(`statements/${b}-${e}-${n}`, [
      "const calls: any[] = [], log = (...x: any[]) => (calls.push(x.map(String).length), x);",
      "const f: any = (...x: any[]) => (calls.push(\"f\"), f), o = { f };",
      "let i = 1",
      ...lines,
      `return [calls, ${/let a/.test(first) ? "typeof a, " : ""}i]`,
    ].join("\n"));
  }

  const members = ["a = 1", "a = [1] as any", "get: any", "static: any", "a?: number", "a = () => 1", "readonly a"];
  const gone = ["", "declare z: 1", "[k: string]: any", "m(): void\n  m() { return 1 }"];
  const next = ["[\"b\"] = 2", "*g() { yield 3 }", "private c = 4", "readonly [0] = 5", "in = 6", "public in: any = 7",
    "e() { return 8 }", "static s?: any = 9", "async h(): Promise<any> {}", "get p(): number { return 10 }"];
  for (const [b, first] of members.entries()) for (const [e, middle] of gone.entries()) for (const [n, last] of next.entries()) {
    const lines = ["class A {", `  ${first}`, ...(middle ? [`  ${middle}`] : []), `  ${last}`, "}"];
    add(`members/${b}-${e}-${n}`, [
      ...lines,
      "const own = (x: any) => Reflect.ownKeys(x).map(String);",
      "return [own(new A()), own(A), own(A.prototype), Object.values(new A()).map(x => typeof x)];",
    ].join("\n"));
  }

  const operators = ["**", "*", "-", ">>", "<", "in", "==", "&", "^", "|", "&&", "||", "??"];
  for (const first of operators) for (const second of operators) for (const type of ["as any", "satisfies any as any"]) {
    if (type !== "as any" && (first === "in" || second === "in")) continue;
    if (type !== "as any" && second !== "*" && second !== "**") continue;
    add(`operators/${first} ${type} ${second}`, [
      "const a: any = 2, b: any = 3, c: any = { valueOf: () => 4, 3: 1, 8: 1, false: 1, true: 1 };",
      `return [a ${first === "in" ? "in c" : `${first} b`} ${type} ${second} c].map(x => typeof x === "object" ? "object" : x);`,
    ].join("\n"));
  }
  return programs;
}

/** What our stripper says, asked through the test that also checks the corpus. */
function strippedByUs(programs) {
  const directory = mkdtempSync(join(tmpdir(), "strip-"));
  const input = join(directory, "programs.jsonl");
  const output = join(directory, "answers.jsonl");
  writeFileSync(input, programs.map(({ id, source }) => JSON.stringify({ id, source }) + "\n").join(""));
  execFileSync("cargo", ["test", "--quiet", "--test", "strip_corpus", "answers_can_be_recorded"], {
    cwd: process.env.STRIP_CRATE ?? join(here, "../../.."),
    env: { ...process.env, DSH_STRIP_RECORD_FROM: input, DSH_STRIP_RECORD_TO: output },
    stdio: ["ignore", "ignore", "inherit"],
  });
  return readFileSync(output, "utf8").trim().split("\n").map(line => JSON.parse(line));
}

const open = "async function program() {\n", close = "\n}";

function strippedByTsBlankSpace(source) {
  let refused = false;
  const output = tsBlankSpace(source, () => { refused = true; });
  return refused ? null : output;
}

function strippedByAmaro(source) {
  try {
    return amaro.transformSync(open + source + close, { mode: "strip-only" }).code.slice(open.length, -close.length);
  } catch {
    return null;
  }
}

/** `=` for an answer that keeps the same characters as ours; what stands in for the others is a matter of taste. */
function compared(source, strip, answer) {
  const kept = output => [...output].map((character, index) => character === source[index] ? character : " ").join("");
  return answer !== null && answer.length === strip.length && kept(answer) === kept(strip) ? "=" : answer;
}

/** JavaScript by the compiler itself, which prints afresh: the truth about what a program means. */
function compiled(source) {
  const { outputText } = typescript.transpileModule(open + source + close, {
    compilerOptions: { target: "esnext", module: "esnext", removeComments: false },
  });
  return `${outputText.replace(/^export \{\};$/m, "")}\nreturn program();`;
}

const AsyncFunction = (async () => {}).constructor;

async function run(javascript) {
  try {
    return { value: JSON.stringify(await new AsyncFunction(`"use strict";\n${javascript}`)()) ?? "undefined" };
  } catch (error) {
    return { throws: error.name };
  }
}

const programs = [...writtenPrograms(), ...generatedPrograms()];
const answers = strippedByUs(programs);
const problems = [];
const rows = [];
for (const [index, { id, source, error }] of programs.entries()) {
  const { strip, errors } = answers[index];
  const row = { id, source };
  if (error !== undefined) {
    const [, line, column, text] = /^(\d+):(\d+) (.*)$/.exec(error);
    row.error = { line: +line, column: +column, text };
  } else if (strip === undefined) {
    // Lost grouping is refused; so is an index right after `f<number>`, which the compiler reports as
    // an error of types.
    if (!/^operators\/|^statements\/3-0-1$/.test(id)) problems.push(`${id}: refused: ${JSON.stringify(errors)}\n${source}`);
    row.error = { line: errors[0].line, column: errors[0].column, text: errors[0].message };
  } else {
    row.strip = strip;
    const ours = await run(strip), truth = await run(compiled(source));
    if (JSON.stringify(ours) !== JSON.stringify(truth)) {
      problems.push(`${id}: we get ${JSON.stringify(ours)} and the compiler ${JSON.stringify(truth)}\n${source}\n---\n${strip}`);
    }
    Object.assign(row, truth);
  }
  if (row.strip !== undefined) {
    row.ts_blank_space = compared(source, row.strip, strippedByTsBlankSpace(source));
    row.amaro = compared(source, row.strip, strippedByAmaro(source));
  }
  rows.push(row);
}
if (problems.length > 0) {
  console.error(problems.join("\n\n"));
  console.error(`${problems.length} of ${programs.length} programs are wrong; the corpus was not written`);
  process.exit(1);
}
writeFileSync(join(here, "../corpus.jsonl"), rows.map(row => JSON.stringify(row) + "\n").join(""));
console.log(`${rows.length} programs, ${rows.filter(row => row.strip !== undefined).length} accepted`);
