#!/bin/bash
# assemble.sh DIR [secure]: an OpenSearch server in DIR, put together from its packages on Maven Central; there is no
# other registry that has it. secure adds the security plugin, of which there is none for the latest version. Needs mvn
# and unzip. Nothing is done if the server is there.
set -euo pipefail
version=2.19.6 loading=2.19.6
[ "${2-}" = secure ] && version=2.19.4 loading=2.19.1
dir=$1
[ -e "$dir/complete-$version" ] && exit 0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# fetch NAME ARTIFACT...: the jars of the artifacts and of all that they need, in $work/NAME
fetch() {
	local name=$1 artifact group id v
	shift
	mkdir -p "$work/$name"
	{
		echo '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
		echo "<groupId>pigrep</groupId><artifactId>$name</artifactId><version>1</version><packaging>pom</packaging><dependencies>"
		for artifact; do
			IFS=: read -r group id v <<<"$artifact"
			echo "<dependency><groupId>$group</groupId><artifactId>$id</artifactId><version>$v</version></dependency>"
		done
		echo '</dependencies></project>'
	} >"$work/$name.xml"
	mvn -q -B -f "$work/$name.xml" org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies "-DoutputDirectory=$work/$name"
	rm -f "$work/$name"/*{osx,windows,aarch_64}*.jar
}

loader=org.opensearch:opensearch-plugin-classloader:$loading
mkdir -p "$dir"/{lib,modules,plugins,config}
# The server names log4j-core as optional, and does not start without it; it must match log4j-api.
fetch core org.opensearch:opensearch:$version $loader org.apache.logging.log4j:log4j-core:2.25.4 org.apache.logging.log4j:log4j-api:2.25.4
cp "$work"/core/*.jar "$dir/lib/"

# module ARTIFACT CLASS EXTENDS PERMISSION...: a module, without the jars that the server has
module() {
	local name=${1%-client} class=$2 extends=$3 jar base permission
	fetch "$1" "org.opensearch.plugin:$1:$version" $loader
	shift 3
	mkdir -p "$dir/modules/$name"
	for jar in "$work/$name"*/*.jar; do
		base=$(basename "$jar" | sed -E 's/-[0-9].*//')
		ls "$dir/lib" "$dir/modules/lang-painless" 2>/dev/null | sed -E 's/-[0-9].*//' | grep -qx -- "$base" || cp "$jar" "$dir/modules/$name/"
	done
	printf '%s\n' description=$name version=$version name=$name classname=$class java.version=11 opensearch.version=$version \
		custom.foldername= "extended.plugins=$extends" has.native.controller=false >"$dir/modules/$name/plugin-descriptor.properties"
	for permission; do echo "permission $permission;"; done | { echo 'grant {'; cat; echo '};'; } >"$dir/modules/$name/plugin-security.policy"
}

module lang-painless org.opensearch.painless.PainlessPlugin '' 'java.lang.RuntimePermission "createClassLoader"' 'java.lang.RuntimePermission "getClassLoader"'
module transport-netty4-client org.opensearch.transport.Netty4Plugin '' 'java.io.FilePermission "/proc/sys/net/core/somaxconn", "read"' \
	'java.net.SocketPermission "*", "accept,connect"' 'java.lang.RuntimePermission "*", "setContextClassLoader"' 'java.lang.RuntimePermission "getClassLoader"' \
	'java.util.PropertyPermission "sun.nio.ch.bugLevel", "write"'
module analysis-common org.opensearch.analysis.common.CommonAnalysisPlugin lang-painless
module reindex-client org.opensearch.index.reindex.ReindexPlugin '' 'java.net.SocketPermission "*", "connect"' 'java.net.NetPermission "getProxySelector"'
module mapper-extras-client org.opensearch.index.mapper.MapperExtrasPlugin ''
module aggs-matrix-stats-client org.opensearch.search.aggregations.matrix.MatrixAggregationPlugin ''
if [ "${2-}" = secure ]; then
	plugin=org.opensearch.plugin:opensearch-security:$version.0:zip
	mvn -q -B org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy "-Dartifact=$plugin" "-DoutputDirectory=$work"
	unzip -q -o "$work"/opensearch-security-*.zip -d "$dir/plugins/opensearch-security"
fi
cat >"$dir/config/log4j2.properties" <<'P'
status = error
appender.console.type = Console
appender.console.name = console
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = [%d{ISO8601}][%-5p][%-25c{1.}] %m%n
rootLogger.level = info
rootLogger.appenderRef.console.ref = console
P
touch "$dir/complete-$version"
