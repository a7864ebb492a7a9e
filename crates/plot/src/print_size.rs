//! The size of text on paper: pictures are legible in a column of a journal. Only long headings shrink.

use ropewalk::cluster::{Hdbscan, Labels};
use ropewalk::geometry::Space;
use ropewalk::halo::{AdaptaHop, Particles};
use ropewalk::units::{MassUnit, Units};
use ropewalk_table::{Catalog, MassCounts};

use crate::{
    AxisUnits, ClusterPicture, GalleryHalo, Map, PictureFormat, ProfilePanel, Projection, Style, clusters,
    condensed_tree, dendrogram, gallery, k_distances, map, mass_function, profiles, projection,
};

/// The width of a column, and the smallest text that journals accept.
const COLUMN_MM: f64 = 85.0;
const LEAST_POINTS: f64 = 5.9;

/// Returns the smallest text of an SVG picture and its size in points if the picture is as wide as a column.
fn smallest(svg: Vec<u8>) -> (f64, String) {
    let svg = String::from_utf8(svg).unwrap();
    let width: f64 = svg.split("viewBox=\"0 0 ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
    let texts = svg.split("font-size=\"").skip(1).map(|text| {
        let (size, rest) = text.split_once('"').unwrap();
        let what = rest.split_once('>').unwrap().1.split('<').next().unwrap();
        (size.parse::<f64>().unwrap() / width * COLUMN_MM / 25.4 * 72.0, what.to_string())
    });
    texts.min_by(|a, b| a.0.total_cmp(&b.0)).unwrap()
}

/// Two clumps of 1000 particles that get denser towards their middles.
fn clumps() -> Vec<[f64; 3]> {
    let clump = |i: i32, x: f64| {
        let place = |k: i32| 0.1 * f64::from((k - 5) * (k - 5).abs()) + 0.01 * f64::from(i % 7);
        let [a, b, c] = [i / 100, i / 10 % 10, i % 10].map(place);
        [a + x, b, c]
    };
    (0..1000).map(|i| clump(i, 0.0)).chain((0..1000).map(|i| clump(i, 4.0))).collect()
}

#[test]
fn text_is_legible_in_a_column() {
    let (positions, style) = (clumps(), Style::new(PictureFormat::Svg).dpi(50.0));
    let units = AxisUnits::new(Some(&Units { mass: MassUnit::MSUN_H, ..Units::GADGET }), Some(1.0));
    let particles = Particles::new(&positions);
    let found = AdaptaHop::new().density_threshold(0.5).run(&positions).unwrap();
    let mut catalog = Catalog::new(&found.nested(), &particles).unwrap();
    let mut pictures = vec![];

    let title = "2,000 particles, 2 halos, box 32 comoving Mpc/h".to_string();
    let shown = Projection { title, units: units.clone(), ..Projection::default() };
    pictures.push(("projection", projection(&particles, &catalog, &shown, style)));
    let counts = MassCounts::new(&catalog, 1e3);
    let title = "694 halos of 20 or more particles, HOP, redshift 0";
    pictures.push(("mass function", mass_function(&counts, &[], title, "", &units, style)));
    catalog.add_subhalos(&found).unwrap();
    pictures.push(("projection with subhalos", projection(&particles, &catalog, &shown, style)));
    pictures.push(("dendrogram", dendrogram(&catalog, 0, "halo 0 (tag 12345): 2,000 particles", style)));

    let profile = ropewalk::halo::profiles(&particles, &[[0.0; 3]], &[2.0], 10).unwrap().remove(0);
    let panel = ProfilePanel { caption: "halo 12 (tag 12345)".into(), profile, radius: Some(1.0) };
    let panels = vec![panel; 6];
    pictures.push(("profiles", profiles(&panels, ["Density profiles of the largest halos", "R200c"], &units, style)));
    pictures.push(("one profile", profiles(&panels[..1], ["Density profile of halo 12", "R200c"], &units, style)));

    let halo = GalleryHalo {
        name: "halo 12 (tag 12345)".into(),
        members: positions.clone(),
        others: vec![(0, positions[..500].to_vec()), (4, positions[..20].to_vec())],
        centers: vec![[0.0; 3]; 2],
        r200c: Some(0.4734),
    };
    let panels = vec![halo.panel(&Space::periodic(None::<f64>).unwrap(), &units); 6];
    let names = ["most bound particle", "most connected particle"];
    pictures.push(("gallery", gallery(&panels, &names, ["Six halos", "R200c"], &units, style)));

    let labels: Vec<i32> = (0..2000).map(|i| i / 130 - 1).collect();
    let labels = Labels::from_slice(&labels).unwrap();
    let title = ["15 clusters of 2,000 points", "eps 0.3, min_samples 5: 130 points of noise"].map(String::from);
    let shown = ClusterPicture { title, eps: 0.3, ..ClusterPicture::default() };
    pictures.push(("clusters in space", clusters(&positions, &labels, &shown, style)));
    let flat: Vec<[f64; 2]> = positions.iter().map(|&[x, y, _]| [x, y]).collect();
    pictures.push(("clusters", clusters(&flat, &labels, &shown, style)));
    let hdbscan = Hdbscan::new(20).run(&positions).unwrap();
    pictures.push(("condensed tree", condensed_tree(&hdbscan, "min_cluster_size 20, min_samples 20", style)));
    let distances: Vec<f64> = (1..=100).map(|i| 0.01 * f64::from(i * i)).collect();
    pictures.push(("k-distances", k_distances(&distances, 4, Some([80, 90]), "points.csv", "Mpc", style)));

    let axes = ["longitude [deg]", "latitude [deg]"].map(String::from);
    let (name, title) = ("temperature [K]".into(), "temperature, 100 x 100 cells".into());
    let grid = Map { cells: [2, 2], corners: [[-180.0, -90.0], [180.0, 90.0]], axes, name, title };
    pictures.push(("map", map(&[271.5, 290.25, 1.5, 3000.0], &grid, style)));

    let sizes: Vec<(&str, (f64, String))> =
        pictures.into_iter().map(|(name, svg)| (name, smallest(svg.unwrap()))).collect();
    assert!(sizes.iter().all(|(_, (size, _))| *size >= LEAST_POINTS), "{sizes:#?}");
}
