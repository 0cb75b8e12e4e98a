/** A vitest reporter that says once per reason what was skipped; it comes before the default one, whose summary is last. */
export default class SkipsReporter {
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
