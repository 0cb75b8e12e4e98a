/** A Vitest reporter that prints each reason for skipped tests once. Listed first, so that the summary comes last. */
export default class NotesReporter {
  onTestRunEnd(modules) {
    const places = new Map();
    for (const module of modules) {
      for (const test of module.children.allTests("skipped")) {
        const reason = test.result().note;
        if (reason) places.set(reason, [...(places.get(reason) ?? []), module.relativeModuleId]);
      }
    }
    for (const [reason, files] of places) {
      process.stdout.write(`\nskipped  ${reason}\n${files.map((file) => `         in ${file}\n`).join("")}`);
    }
  }
}
