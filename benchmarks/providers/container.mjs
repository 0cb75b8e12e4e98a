import { dockerProvider } from "@openenv-ts/providers";
import { docker, withImage } from "./image.mjs";
import { answersReset, timeStart } from "./ready.mjs";

export const title = "a container";

export function run(bench) {
  return withImage((image) => measure(bench, image));
}

async function measure(bench, image) {
  const provider = dockerProvider();
  const rounds = bench.quick ? 4 : 15;
  const samples = await bench.interleave({ ours: rounds, bare: rounds }, (subject) =>
    timeStart(subject === "ours" ? () => provider.start({ image }) : () => startBare(image)),
  );
  const added = samples.ours.map((milliseconds, round) => milliseconds - samples.bare[round]);
  return [
    { id: "container-ready", measure: "a container, until it is ready", unit: "ms", samples, targets: [] },
    {
      id: "container-added",
      measure: "overhead over `docker run`",
      unit: "ms",
      samples: { ours: added },
      targets: [{ limit: "at most", value: 300 }],
    },
  ];
}

async function startBare(image) {
  const container = await docker("run", "--detach", "--publish", "127.0.0.1::8000", image);
  const address = await docker("port", container, "8000/tcp");
  await answersReset(`http://${address.split("\n")[0]}`);
  return { close: () => docker("rm", "--force", "--volumes", container) };
}
