import { useState } from "react";
import type { PictureSource } from "./picture.js";

/** A picture at its natural size, never wider than its container. */
export function Picture({ src, type, alt }: PictureSource & { alt: string }) {
  const [size, setSize] = useState<string>();
  const [broken, setBroken] = useState(false);
  if (broken) return <p className="hint">This picture cannot be shown ({type}).</p>;
  return (
    <figure className="picture">
      <div className="pic">
        <img
          src={src}
          alt={alt}
          onError={() => setBroken(true)}
          onLoad={({ currentTarget }) => setSize(`${currentTarget.naturalWidth} × ${currentTarget.naturalHeight}`)}
        />
      </div>
      <figcaption className="hint">
        {[type, size].filter(Boolean).join(", ")}{" "}
        <a className="more" href={src} download={`picture.${type.split("/")[1]?.replace("+xml", "")}`}>
          Save
        </a>
      </figcaption>
    </figure>
  );
}

/** A sound with the controls of the browser. */
export function Sound({ src, type, label }: PictureSource & { label: string }) {
  return (
    <figure className="picture">
      {/* biome-ignore lint/a11y/useMediaCaption: an environment has no captions */}
      <audio controls preload="metadata" src={src} aria-label={label} />
      <figcaption className="hint">{type}</figcaption>
    </figure>
  );
}
