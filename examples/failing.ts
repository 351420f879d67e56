// Calls fail; the program goes on. A failed call rejects with a `ToolCallError` that names the tool and says what the
// tool said.
//
//   dsh code examples/failing.ts

const wanted = ["README.md", "no-such-file.md", "../outside.md", "ARCHITECTURE.md"];

const outcomes = await Promise.allSettled(
  wanted.map((path) => tools.read({ file_path: path, limit: 1 })),
);

let survived = 0;
outcomes.forEach((outcome, index) => {
  if (outcome.status === "fulfilled") {
    survived += 1;
    console.log(`${wanted[index]}: ${outcome.value.totalLines} lines`);
  } else if (outcome.reason instanceof ToolCallError) {
    console.log(`${wanted[index]}: ${outcome.reason.toolName} said: ${outcome.reason.message}`);
  } else {
    throw outcome.reason;
  }
});

return { asked: wanted.length, survived };
