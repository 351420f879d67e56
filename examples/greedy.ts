// Wants more than it may have. Run it with a small budget and see what a limit looks like:
//
//   dsh code examples/greedy.ts --compute-ms 200 --json
//
// What was printed before the end comes back all the same.

console.log("counting the grains of sand");
let grains = 0n;
while (true) {
  grains += 1n;
}
