/** The most pixels that are looked at together. */
const PIECE = 1 << 20;
/** Images of more pixels take seconds: they are opaque, as far as they are shown. */
const MOST = 1 << 26;

/**
 * The use of the alpha channel of an image, by the rule of all programs of the project. Mesh files do not store it.
 *
 * - `opaque`: no pixel has an alpha below 250 of 255, or all have an alpha of 0.
 * - `mask`: at most a twentieth of the pixels have an alpha from 8 to 247. These are leaves and fences.
 * - `blend`: everything else, such as glass and smoke.
 *
 * @param {CanvasImageSource & { width: number, height: number }} image
 * @returns {Promise<'opaque' | 'mask' | 'blend'>}
 */
export async function alphaOf(image) {
    const { width, height } = image;
    const rows = Math.max(1, Math.floor(PIECE / Math.max(1, width)));
    const canvas = Object.assign(document.createElement('canvas'), { width, height: Math.min(rows, height) });
    const context = canvas.getContext('2d', { willReadFrequently: true });
    if (!context || width === 0 || height === 0 || width * height > MOST) return 'opaque';
    // Decoded once, and not for each piece. Fails for a damaged image.
    const bitmap = await createImageBitmap(image);
    let least = 255;
    let most = 0;
    let between = 0;
    for (let top = 0; top < height; top += rows) {
        const count = Math.min(rows, height - top);
        context.clearRect(0, 0, width, count);
        context.drawImage(bitmap, 0, top, width, count, 0, 0, width, count);
        const { data } = context.getImageData(0, 0, width, count);
        for (let i = 3; i < data.length; i += 4) {
            const alpha = data[i];
            if (alpha < least) least = alpha;
            if (alpha > most) most = alpha;
            if (alpha >= 8 && alpha <= 247) between += 1;
        }
    }
    bitmap.close();
    if (least >= 250 || most === 0) return 'opaque';
    return between * 20 <= width * height ? 'mask' : 'blend';
}
