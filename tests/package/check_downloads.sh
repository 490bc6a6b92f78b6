#!/bin/sh
# tools/downloads makes the same bytes of the same build, whenever, in whatever time zone and with whatever umask it
# runs, and other bytes of another build. The build is that of a project of two files, with the settings of ours.
#   check_downloads.sh CMAKE SOURCE
set -eu
cmake=$1 source=$2
command -v dpkg-deb >/dev/null && command -v dpkg-shlibdeps >/dev/null || { echo "needs dpkg-dev"; exit 77; }
folder=$(mktemp -d)
trap 'chmod -R u+rwX "$folder"; rm -rf "$folder"' EXIT

mkdir "$folder/project"
cat >"$folder/project/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.22)
project(tiny VERSION 1.2.3 LANGUAGES NONE)
install(PROGRAMS run DESTINATION bin)
install(FILES b.txt a.txt DESTINATION share/tiny)
set(CPACK_PACKAGE_CONTACT "nobody")
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_UNSPECIFIED_PACKAGE_NAME tiny)
set(CPACK_COMPONENTS_ALL Unspecified)
include(CPack)
END
printf '#!/bin/sh\necho ran\n' >"$folder/project/run"
echo a >"$folder/project/a.txt"
echo b >"$folder/project/b.txt"
"$cmake" -S "$folder/project" -B "$folder/build" >/dev/null
export SOURCE_DATE_EPOCH=1700000000 TZ=UTC
made() { "$source/tools/downloads" "$folder/build" "$folder/$1" >"$folder/log" 2>&1 || { cat "$folder/log"; exit 1; }; }

made first
touch -d '2001-02-03 04:05:06' "$folder/project/b.txt"
touch "$folder/project/run"
(umask 077 && TZ=Asia/Tokyo made second)
ls "$folder/first"
diff -r "$folder/first" "$folder/second"
[ "$(ls "$folder/first" | wc -l)" = 3 ]
(cd "$folder/first" && sha256sum --check --quiet SHA256SUMS)

mkdir "$folder/out"
tar -xzf "$folder"/first/tiny-1.2.3-linux-*.tar.gz -C "$folder/out" --no-same-owner
[ "$("$folder"/out/tiny-1.2.3-linux-*/bin/run)" = ran ]
tar -tvzf "$folder"/first/tiny-*.tar.gz | awk '{print $2, $4}' | sort -u | grep -qx '0/0 2023-11-14'
dpkg-deb --contents "$folder"/first/tiny_1.2.3_*.deb | grep '^-rwxr-xr-x root/root .* 2023-11-14 .*/bin/run$' >/dev/null
dpkg-deb --field "$folder"/first/tiny_*.deb Package | grep -qx tiny

echo changed >"$folder/project/a.txt"
made third
for made in deb tar.gz; do
  if cmp -s "$folder"/first/*.$made "$folder"/third/*.$made; then echo "the same $made of another build"; exit 1; fi
done
