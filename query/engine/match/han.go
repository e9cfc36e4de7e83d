package match

import (
	"strings"
	"sync"
	"unicode/utf8"
)

// hanPairs lists the most frequent traditional characters, each followed by its
// simplified form. Unicode folding and the index keep the two apart; a search
// matches both.
const hanPairs = "萬万與与專专業业叢丛東东絲丝丟丢兩两嚴严喪丧個个豐丰臨临為为麗丽舉举義义烏乌樂乐喬乔習习鄉乡書书買买亂乱爭争虧亏雲云亞亚" +
	"產产畝亩親亲億亿僅仅從从倉仓儀仪們们價价眾众優优會会傘伞偉伟傳传傷伤倫伦偽伪體体餘余傭佣俠侠偵侦側侧僑侨儉俭債债傾倾償偿" +
	"儲储兒儿兌兑黨党蘭兰關关興兴養养獸兽內内岡冈冊册寫写軍军農农馮冯沖冲決决況况凍冻淨净涼凉減减湊凑幾几鳳凤憑凭凱凯擊击鑿凿" +
	"劃划劉刘則则剛刚創创刪删別别剝剥劑剂劍剑劇剧勸劝辦办務务動动勵励勁劲勞劳勢势勻匀匯汇區区醫医華华協协單单賣卖盧卢衛卫卻却" +
	"廠厂廳厅歷历厲厉壓压厭厌廁厕廈厦縣县參参雙双發发變变敘叙葉叶號号嘆叹嚇吓嗎吗啟启吳吴員员聽听嗚呜詠咏響响啞哑喚唤嘗尝園园" +
	"圍围國国圖图圓圆聖圣場场壞坏塊块堅坚壇坛墳坟墜坠壘垒墊垫塢坞牆墙壯壮聲声殼壳處处備备複复復复夠够頭头誇夸夾夹奪夺奮奋獎奖" +
	"奧奥婦妇媽妈嬌娇娛娱婁娄學学孫孙寧宁寶宝實实寵宠審审憲宪宮宫寬宽賓宾寢寝對对尋寻導导壽寿將将爾尔塵尘堯尧屍尸盡尽層层屆届" +
	"屬属嶼屿歲岁豈岂島岛嶺岭峽峡崗岗幣币帥帅師师帳帐簾帘幟帜帶带幫帮幹干乾干莊庄慶庆廬庐庫库應应廟庙龐庞廢废開开異异棄弃張张" +
	"彌弥彎弯彈弹強强歸归當当錄录徹彻徑径後后禦御憶忆憂忧懷怀態态總总戀恋惡恶懇恳惱恼悅悦懸悬驚惊懼惧慘惨懲惩慣惯憤愤願愿懶懒" +
	"戲戏戰战戶户紮扎撲扑執执擴扩掃扫揚扬擾扰撫抚拋抛搶抢護护報报擔担擬拟攏拢揀拣擁拥攔拦擰拧撥拨擇择掛挂摯挚撓挠擋挡掙挣擠挤" +
	"揮挥損损撿捡換换搗捣據据擄掳擲掷撣掸摻掺攬揽攙搀擱搁摟搂攪搅攜携攝摄擺摆搖摇攤摊撐撑攆撵敵敌斂敛數数齋斋鬥斗斬斩斷断無无" +
	"舊旧時时曠旷曇昙晝昼顯显晉晋曬晒曉晓暈晕暉晖暫暂術术樸朴機机殺杀雜杂權权條条來来楊杨極极構构樞枢棗枣槍枪楓枫櫃柜檸柠標标" +
	"棧栈欄栏樹树棲栖樣样橋桥樺桦檔档夢梦檢检樓楼橫横櫻樱橢椭歡欢歐欧殲歼殘残毆殴毀毁畢毕斃毙氈毡氣气氫氢漢汉湯汤溝沟沒没淪沦" +
	"滄沧滬沪淚泪潑泼澤泽潔洁灑洒淺浅漿浆澆浇濁浊測测濟济渾浑濃浓濤涛渦涡渙涣滌涤潤润漲涨澀涩淵渊漸渐漁渔滲渗溫温遊游灣湾濕湿" +
	"潰溃濺溅滾滚滯滞滿满濾滤濫滥灘滩滅灭燈灯靈灵災灾燦灿爐炉點点煉炼爍烁爛烂煩烦燒烧燭烛熱热煥焕愛爱爺爷牽牵犧牺狀状猶犹狹狭" +
	"獅狮獄狱獨独猙狰獵猎豬猪貓猫獻献環环現现瑪玛電电畫画暢畅疇畴瘡疮瘋疯療疗癢痒瘓痪癱瘫皺皱盞盏鹽盐監监蓋盖盜盗盤盘睜睁瞭了" +
	"矯矫礦矿碼码磚砖確确礎础碩硕禮礼禍祸禪禅離离種种積积稱称穩稳穀谷窮穷竊窃竅窍窯窑竄窜窩窝豎竖競竞筆笔筍笋籠笼築筑篩筛籌筹" +
	"簽签簡简籃篮類类糧粮糾纠紀纪約约級级紋纹純纯紗纱納纳紙纸紛纷細细紹绍終终組组絆绊結结繞绕繪绘給给絡络絕绝絞绞統统絹绢繡绣" +
	"繼继續续緒绪綽绰繩绳維维綿绵綁绑綜综綠绿綴缀網网緊紧緩缓編编緣缘線线練练縫缝縮缩績绩織织繳缴纏缠罰罚羅罗罷罢羨羡聞闻職职" +
	"聯联聰聪肅肃腸肠膚肤脹胀脅胁膽胆勝胜膠胶腦脑臉脸臘腊膩腻騰腾艦舰艱艰藝艺節节蘆芦蕪芜蒼苍蘇苏蘋苹範范莖茎薦荐蕩荡榮荣葷荤" +
	"藥药獲获營营蕭萧薩萨藍蓝蘊蕴虜虏慮虑蟲虫雖虽蝦虾蝕蚀蟻蚁蠅蝇蠟蜡補补襯衬襲袭裝装褲裤見见觀观規规覓觅視视覽览覺觉觸触譽誉" +
	"計计訂订認认討讨讓让訓训議议訊讯記记講讲諱讳許许論论訟讼設设訪访證证評评識识詐诈訴诉診诊詞词譯译試试詩诗誠诚話话誕诞詢询" +
	"該该詳详語语誤误誘诱說说請请諸诸諾诺讀读課课誰谁調调諒谅談谈謀谋諜谍謊谎謂谓諧谐謎谜謝谢謠谣謙谦謹谨譜谱譴谴負负財财責责" +
	"賢贤敗败賬账貨货質质販贩貪贪貧贫購购貯贮貫贯貼贴貴贵貸贷貿贸費费賀贺賊贼資资賦赋賭赌賞赏賜赐賠赔賴赖賺赚賽赛贊赞贈赠贏赢" +
	"趕赶趙赵趨趋躍跃踐践蹤踪軀躯車车軌轨轉转輪轮軟软軸轴輕轻載载較较輔辅輛辆輩辈輝辉輯辑輸输轄辖辭辞邊边遼辽達达遷迁過过邁迈" +
	"運运還还這这進进遠远違违連连遲迟適适選选遞递邏逻遺遗鄧邓鄰邻郵邮醬酱釀酿釋释裡里裏里鑑鉴針针釘钉鈔钞鐘钟鈉钠鋼钢鑰钥鉤钩" +
	"錢钱鉗钳鉛铅銅铜鋁铝銘铭銀银鑄铸鋪铺鏈链銷销鎖锁鍋锅鋒锋銳锐錯错錫锡鑼锣錘锤錦锦鍵键鋸锯鍛锻鍍镀鎮镇鏡镜長长門门閃闪閉闭" +
	"問问闖闯閑闲間间悶闷鬧闹閱阅闆板闊阔隊队陽阳陰阴陣阵階阶際际陸陆陳陈險险隨随隱隐隸隶難难雛雏霧雾靜静韓韩韻韵頁页頂顶項项" +
	"順顺須须顧顾頓顿預预領领頻频題题顏颜額额顛颠顫颤風风飛飞飢饥飯饭飲饮飾饰飽饱餅饼餓饿館馆饋馈馬马馳驰驅驱駁驳駐驻駕驾駛驶" +
	"驗验騎骑騙骗騷骚驟骤魚鱼魯鲁鮮鲜鯨鲸鳥鸟雞鸡鳴鸣鴨鸭鵝鹅鷹鹰麥麦麼么黃黄齊齐齒齿齡龄龍龙龜龟臺台係系繫系隻只製制註注週周" +
	"併并並并佈布佔占採采彙汇徵征恆恒慾欲於于昇升曆历髮发鐵铁閘闸閾阈碁棋嚮向錶表準准鬆松颱台遙遥濱滨讚赞歎叹佇伫靂雳嘯啸倆俩" +
	"嗆呛嘍喽嚀咛擷撷瀏浏瀉泻螢萤蹟迹跡迹勳勋啓启衝冲臟脏髒脏誌志託托諮咨儘尽甦苏濛蒙麵面"

// hanTables maps traditional to simplified characters and back. The tables are made
// for the first Han character: most queries have none.
var hanTables = sync.OnceValues(func() (simplified map[rune]rune, traditional map[rune][]rune) {
	to, from := make(map[rune]rune, len(hanPairs)/6), make(map[rune][]rune, len(hanPairs)/6)
	pairs := []rune(hanPairs)
	for i := 0; i+1 < len(pairs); i += 2 {
		to[pairs[i]] = pairs[i+1]
		from[pairs[i+1]] = append(from[pairs[i+1]], pairs[i])
	}
	return to, from
})

// HasHanPair reports whether the text has a character with another form.
func HasHanPair(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool {
		if r < 0x3400 || 0x9FFF < r { // not in the tables
			return false
		}
		simplified, traditional := hanTables()
		return simplified[r] != 0 || traditional[r] != nil
	})
}

// HanForms returns the other spellings of a term in simplified, traditional and mixed
// characters.
func HanForms(term string) []string {
	const most = 16
	simplified, traditional := hanTables()
	forms := []string{""}
	for _, r := range term {
		all := []rune{r}
		s := r
		if to, ok := simplified[r]; ok {
			s = to
			all = append(all, s)
		}
		for _, t := range traditional[s] {
			if t != r {
				all = append(all, t)
			}
		}
		var next []string
		for _, f := range forms {
			for _, c := range all {
				if len(next) < most {
					next = append(next, f+string(c))
				}
			}
		}
		forms = next
	}
	return forms[1:] // the first is the term
}

// SimplifyHan replaces traditional by simplified characters in place. Both forms have
// three bytes in UTF-8.
func SimplifyHan(text []byte) {
	simplified, _ := hanTables()
	for i := 0; i < len(text); {
		if text[i] < 0xE4 || text[i] > 0xE9 { // U+4000 to U+9FFF
			i++
			continue
		}
		r, size := utf8.DecodeRune(text[i:])
		if s, ok := simplified[r]; ok {
			utf8.EncodeRune(text[i:], s)
		}
		i += size
	}
}
